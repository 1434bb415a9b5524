import {
  type LiveRules,
  type NextRules,
  RulesTarget,
  RulesTargetMoved,
  type RulesTargetUnavailable,
  type TargetAccess,
} from '../../../src/acl-sync/domain/rules-target.js';

/** A target in memory. Passes the contract of the real ones, and a test can make it change or fail. */
export class FakeRulesTarget extends RulesTarget {
  override readonly name = 'fake';
  override readonly key: string;
  override limitBytes: number | null = null;
  text: string | null = null;
  former: string | null = null;
  /** As annotations name it. */
  written: LiveRules['namedVersion'];
  published: NextRules[] = [];
  /** Thrown by the next calls, until it is null again. */
  failure: RulesTargetUnavailable | null = null;
  /** Called between a reading and a publication: the moment for a concurrent change. */
  beforePublish: () => void = () => undefined;
  private readonly onWritten: (() => void)[] = [];
  private revision = 1;

  constructor(key = 'fake') {
    super();
    this.key = key;
  }

  editByHand(text: string | null): void {
    this.text = text;
    this.revision += 1;
  }

  override read(): Promise<LiveRules> {
    if (this.failure !== null) return Promise.reject(this.failure);
    const namedVersion = this.written && { namedVersion: this.written };
    return Promise.resolve({ text: this.text, ...namedVersion, revision: String(this.revision) });
  }

  override checkAccess(): Promise<TargetAccess> {
    return this.failure === null ? Promise.resolve({ kind: 'granted' }) : Promise.reject(this.failure);
  }

  override publish(next: NextRules, live: LiveRules): Promise<void> {
    this.beforePublish();
    if (this.failure !== null) return Promise.reject(this.failure);
    if (live.revision !== String(this.revision)) return Promise.reject(new RulesTargetMoved());
    if (this.text !== next.text) this.former = this.text ?? this.former;
    this.editByHand(next.text);
    this.written = { generation: next.generation, hash: next.hash };
    this.published.push(next);
    for (const written of this.onWritten.splice(0)) written();
    return Promise.resolve();
  }

  /** Resolves when a version was written. */
  async untilWritten(version: number): Promise<void> {
    while (this.written?.generation !== version) await new Promise<void>((written) => this.onWritten.push(written));
  }
}
