import { Registry } from 'prom-client';
import { AclSyncMetrics } from '../../src/acl-sync/acl-sync.metrics.js';
import { AclSyncService, RunReportsService } from '../../src/acl-sync/acl-sync.service.js';
import { CandidateService } from '../../src/acl-sync/candidate.service.js';
import { type Candidate, compileFor, type Preparation, prepare } from '../../src/acl-sync/domain/candidate.js';
import type { RunOrder, RunOutcome } from '../../src/acl-sync/domain/publication.js';
import { prepareWithdrawal, type WithdrawalOrder } from '../../src/acl-sync/domain/prepared-withdrawal.js';
import { type CompiledText, type Lease, RulesPreparer, SyncLock } from '../../src/acl-sync/domain/run-ports.js';
import { documentOf } from '../../src/acl-sync/domain/unexplained-change.js';
import { type Preview, PreviewService } from '../../src/acl-sync/preview.service.js';
import { AuditService } from '../../src/audit/audit.service.js';
import {
  AUDIT_EVENTS,
  type AuditEntry,
  type AuditEvent,
  type AuditEventName,
  type AuditSubject,
  type AuditFilter,
  AuditStore,
  type TrailPosition,
} from '../../src/audit/domain/audit-event.js';
import type { Growth } from '../../src/grants/domain/admission-ports.js';
import { snapshotSettings, SnapshotStore } from '../../src/grants/domain/snapshot-store.js';
import { GuaranteeStore } from '../../src/grants/guarantee.store.js';
import type { GuaranteeVerdict } from '../../src/trino-rules/answers/guarantee-verdicts.js';
import type { Settings } from '../../src/platform/settings/settings.js';
import { parseSettings } from '../../src/platform/settings/settings-parser.js';
import { Transaction } from '../../src/platform/database/transaction.js';
import { type AccessChange, compareAccess } from '../../src/trino-rules/diff/access-change.js';
import type { Snapshot } from '../../src/trino-rules/model/snapshot.js';
import { FakePublicationHistory } from '../support/fakes/fake-publication-history.js';
import { FakeRulesTarget } from '../support/fakes/fake-rules-target.js';
import { LogBook } from '../support/fakes/log-book.js';
import { TEST_SECRET } from '../support/service/secrets.js';
import { TestClock } from '../support/fakes/test-clock.js';

/** The sync as a whole, on a snapshot and a target in memory. */
export class SyncUnderTest {
  snapshot: Snapshot;
  /** Whether the database answers to the reading of grants. */
  canRead = true;
  readonly target = new FakeRulesTarget();
  readonly history = new FakePublicationHistory();
  readonly preparer = new FaultyPreparer();
  readonly lock = new FreeLock();
  readonly log = new LogBook();
  readonly clock = new TestClock();
  readonly audited: AuditEntry[] = [];
  readonly metrics = new Registry();
  readonly guarantees = new KeptStates();
  readonly service: AclSyncService;
  readonly snapshots: SnapshotStore;
  private readonly previews: PreviewService;

  /** @param through stands between the service and its ports */
  constructor(snapshot: Snapshot, through: <T extends object>(port: T) => T = (port) => port) {
    this.snapshot = snapshot;
    const { settings } = parseSettings({ AUTH_SECRET_KEY: TEST_SECRET });
    this.snapshots = new FixedSnapshotStore(this, settings);
    const audit = new AuditService(new FakeAuditStore(this.audited), this.clock, settings, this.log);
    const metrics = new AclSyncMetrics(this.metrics);
    const [target, history] = [through(this.target), through(this.history)];
    const reports = new RunReportsService(
      history,
      audit,
      new MemoryTransaction(this),
      metrics,
      this.log,
      this.guarantees,
    );
    const { preparer, lock, clock } = this;
    const candidates = new CandidateService(this.snapshots, audit, history, preparer, target, settings, this.log);
    this.previews = new PreviewService(candidates, preparer, target, history, clock, this.guarantees);
    this.service = new AclSyncService(candidates, preparer, target, history, lock, reports, clock);
  }

  /** The audit event of a change. */
  recorded(event: AuditEventName, type: AuditSubject['type'], id: number): void {
    const subject = { type, id: String(id), name: null };
    this.audited.push({ event, actor: null, origin: null, subject, details: {} });
  }

  async run(order: Partial<RunOrder> = {}): Promise<RunOutcome> {
    const by = { actor: null, origin: null };
    const result = await this.service.run({ trigger: 'schedule', by, lockTimeoutMs: 0, ...order });
    if (result.kind === 'busy') throw new Error('nothing else runs here');
    return result.outcome;
  }

  preview(): Promise<Preview> {
    return this.previews.preview(null);
  }
}

/** Prepares rules as the real one does; a test can make it alter the text, or fail. */
class FaultyPreparer extends RulesPreparer {
  tamper: (candidate: Candidate, snapshot: Snapshot) => Candidate = (candidate) => candidate;

  /** The digest of the compiler. */
  build = 'a build';

  canCompile = true;

  /** Number of preparations. */
  prepared = 0;

  override prepare(preparation: Preparation): Promise<Candidate> {
    this.prepared += 1;
    return Promise.resolve(preparation).then((given) => this.tamper(prepare(given, this.build), given.snapshot));
  }

  override withdraw(preparation: Preparation, order: WithdrawalOrder): Promise<Candidate | null> {
    if (order.how === 'compiled' && !this.canCompile) return Promise.reject(new Error('out of memory'));
    return Promise.resolve(prepareWithdrawal(preparation, this.build, order));
  }

  override compare(before: string, after: string): Promise<AccessChange> {
    return Promise.resolve(compareAccess(documentOf(before), documentOf(after)));
  }

  override compile(snapshot: Snapshot, limit: number | null): Promise<CompiledText> {
    const compiled = compileFor(snapshot, limit);
    return Promise.resolve(compiled.kind === 'too-large' ? compiled : { kind: 'compiled', text: compiled.rules.text });
  }
}

/** The verdicts of the last run. */
export class KeptStates extends GuaranteeStore {
  verdicts: readonly GuaranteeVerdict[] = [];

  constructor() {
    super(...([] as unknown as ConstructorParameters<typeof GuaranteeStore>));
  }

  override record(verdicts: readonly GuaranteeVerdict[]): Promise<void> {
    this.verdicts = verdicts;
    return Promise.resolve();
  }

  override listAll(): Promise<[]> {
    return Promise.resolve([]);
  }
}

class FreeLock extends SyncLock {
  confirm: Lease['confirm'] = () => Promise.resolve();

  override async whileHeld<T>(_: number, work: (lease: Lease) => Promise<T>): Promise<{ kind: 'held'; result: T }> {
    return { kind: 'held', result: await work({ confirm: () => this.confirm() }) };
  }
}

class FixedSnapshotStore extends SnapshotStore {
  constructor(
    private readonly of: Pick<SyncUnderTest, 'snapshot' | 'canRead' | 'clock'>,
    private readonly settings: Settings,
  ) {
    super();
  }

  override read(): Promise<Snapshot> {
    const { snapshot, canRead, clock } = this.of;
    if (!canRead) return Promise.reject(new Error('the database is gone'));
    return Promise.resolve({ ...snapshot, settings: snapshotSettings(this.settings), at: clock.now() });
  }

  override readFor(): Promise<Snapshot> {
    return this.read();
  }

  override readTouched(): Promise<Snapshot> {
    return this.read();
  }

  override readCommitted(): Promise<Snapshot> {
    return this.read();
  }

  override grantsOnPath(): Promise<[]> {
    return Promise.resolve([]);
  }

  override async nextExpiry(after: Date): Promise<Date | null> {
    const { grants } = await this.read();
    const ends = grants.flatMap(({ expiresAt }) => (expiresAt !== null && expiresAt > after ? [expiresAt] : []));
    return ends.sort((a, b) => Number(a) - Number(b))[0] ?? null;
  }

  override growth(): Promise<Growth> {
    return Promise.resolve({ bytes: 0, isWide: false });
  }
}

class FakeAuditStore extends AuditStore {
  private readonly times = new WeakMap<AuditEntry, Date>();

  constructor(private readonly entries: AuditEntry[]) {
    super();
  }

  override append(entries: readonly AuditEntry[], at: Date): Promise<void> {
    for (const entry of entries) this.times.set(entry, at);
    this.entries.push(...entries);
    return Promise.resolve();
  }

  override position(): Promise<TrailPosition> {
    return Promise.resolve('0:0');
  }

  override async page({ event }: AuditFilter, _: number | null, limit: number): Promise<AuditEvent[]> {
    const newest = (await this.eventsSince(event === undefined ? AUDIT_EVENTS : [event])).reverse();
    return newest.slice(0, limit);
  }

  override eventsSince(events: readonly AuditEventName[]): Promise<AuditEvent[]> {
    const matching = this.entries.filter(({ event }) => events.includes(event));
    return Promise.resolve(matching.map((entry, id) => ({ ...entry, id, at: this.times.get(entry) ?? new Date(0) })));
  }

  override removeExpired(): Promise<number> {
    return Promise.resolve(0);
  }
}

/** A failure undoes what was written to the history and the trail. */
class MemoryTransaction extends Transaction {
  constructor(private readonly of: Pick<SyncUnderTest, 'history' | 'audited'>) {
    super();
  }

  override async run<T>(work: () => Promise<T>): Promise<T> {
    const { history, audited } = this.of;
    const [rows, runs, events] = [structuredClone(history.rows), history.runs.length, audited.length];
    try {
      return await work();
    } catch (error) {
      history.rows.splice(0, Infinity, ...rows);
      history.runs.splice(runs);
      audited.splice(events);
      throw error;
    }
  }
}
