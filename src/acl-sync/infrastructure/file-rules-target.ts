import { createHash } from 'node:crypto';
import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import {
  type LiveRules,
  type NextRules,
  RulesTarget,
  RulesTargetMoved,
  RulesTargetUnavailable,
} from '../domain/rules-target.js';

/**
 * `rules.json` and `rules.json.bak` in one folder, replaced by rename, so that a reader sees one whole text or the other.
 * Between processes the sync's lock keeps writers apart; here only a check of the content does, as a file system has no more.
 */
export class FileRulesTarget extends RulesTarget {
  override readonly name: string;
  override readonly limitBytes = null;
  private readonly directory: string;
  private lastWrite: Promise<unknown> = Promise.resolve();

  constructor(directory: string) {
    super();
    this.directory = resolve(directory);
    this.name = `file ${join(directory, 'rules.json')}`;
  }

  override async read(): Promise<LiveRules> {
    const bytes = await this.orUnavailable(() => this.bytes());
    return { text: bytes?.toString('utf8') ?? null, revision: revisionOf(bytes) };
  }

  override async publish(next: NextRules, live: LiveRules): Promise<void> {
    const write = this.lastWrite.then(() => this.orUnavailable(() => this.replace(next, live)));
    this.lastWrite = write.catch(() => undefined);
    await write;
  }

  private async replace(next: NextRules, live: LiveRules): Promise<void> {
    const former = await this.bytes();
    if (revisionOf(former) !== live.revision) throw new RulesTargetMoved();
    await mkdir(this.directory, { recursive: true });
    // First the former text: a crash in between leaves the live rules as they are, with a copy beside them.
    if (former !== null) await this.write('rules.json.bak', former);
    await this.write('rules.json', Buffer.from(next.text));
    await flush(this.directory);
  }

  private async write(file: string, content: Buffer): Promise<void> {
    const path = join(this.directory, file);
    const handle = await open(`${path}.next`, 'w');
    try {
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(`${path}.next`, path);
  }

  /** The bytes rather than the text: what somebody wrote by hand need not be UTF-8, and is kept as it is. */
  private async bytes(): Promise<Buffer | null> {
    try {
      return await readFile(join(this.directory, 'rules.json'));
    } catch (failure) {
      if (codeOf(failure) === 'ENOENT') return null;
      throw failure;
    }
  }

  private async orUnavailable<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (failure) {
      const code = codeOf(failure);
      if (code === null) throw failure;
      const reason = code === 'EACCES' || code === 'EPERM' || code === 'EROFS' ? 'forbidden' : 'unreachable';
      throw new RulesTargetUnavailable(reason, `${this.directory} cannot be read or written: ${code}`);
    }
  }
}

function revisionOf(bytes: Buffer | null): string {
  return bytes === null ? 'absent' : createHash('sha256').update(bytes).digest('hex');
}

/** The operating system's code (`ENOENT`); null for what did not come from it. */
function codeOf(failure: unknown): string | null {
  return typeof failure === 'object' && failure !== null && 'code' in failure ? String(failure.code) : null;
}

/** A rename is only lasting once its folder is on the disk. */
async function flush(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
