import { Registry } from 'prom-client';
import { AclSyncMetrics } from '../../src/acl-sync/acl-sync.metrics.js';
import { AclSyncService, RunReportsService } from '../../src/acl-sync/acl-sync.service.js';
import { CandidateService } from '../../src/acl-sync/candidate.service.js';
import { type Candidate, prepare } from '../../src/acl-sync/domain/candidate.js';
import { firstStep } from '../../src/trino-rules/transition/first-step.js';
import type { RunOrder, RunOutcome } from '../../src/acl-sync/domain/publication.js';
import { prepareWithdrawal } from '../../src/acl-sync/domain/prepared-withdrawal.js';
import {
  type PreparationTasks,
  preparationTasks,
  runTask,
  type TaskName,
} from '../../src/acl-sync/domain/preparation-tasks.js';
import { type Lease, RulesPreparer, SyncLock } from '../../src/acl-sync/domain/run-ports.js';
import { type RulesTarget, RulesTargets } from '../../src/acl-sync/domain/rules-target.js';
import { type Preview, PreviewService } from '../../src/acl-sync/preview.service.js';
import { AuditService } from '../../src/audit/audit.service.js';
import { AuditStore } from '../../src/audit/audit.store.js';
import {
  AUDIT_EVENTS,
  type AuditEntry,
  type AuditEvent,
  type AuditEventName,
  type AuditSubject,
  type AuditFilter,
  type TrailPosition,
} from '../../src/audit/domain/audit-event.js';
import type { Growth } from '../../src/grants/domain/admission-ports.js';
import { snapshotSettings, SnapshotStore } from '../../src/grants/domain/snapshot-store.js';
import { GuaranteeStore } from '../../src/grants/guarantee.store.js';
import type { GuaranteeVerdict } from '../../src/trino-rules/answers/guarantee-verdicts.js';
import type { Settings } from '../../src/platform/settings/settings.js';
import { parseSettings } from '../../src/platform/settings/settings-parser.js';
import { Transaction } from '../../src/platform/database/transaction.js';
import type { Snapshot } from '../../src/trino-rules/model/snapshot.js';
import { FakePublicationHistory } from '../support/fakes/fake-publication-history.js';
import { FakeRulesTarget } from '../support/fakes/fake-rules-target.js';
import { FakeTimers } from '../support/fakes/fake-timers.js';
import { LogBook } from '../support/fakes/log-book.js';
import { TEST_SECRET } from '../support/service/secrets.js';
import { TestClock } from '../support/fakes/test-clock.js';

/** The sync as a whole, on a snapshot and a target in memory. */
export class SyncUnderTest {
  snapshot: Snapshot;
  /** Whether the database answers to the reading of grants. */
  canRead = true;
  readonly target = new FakeRulesTarget();
  readonly targets: RulesTargets;
  readonly timers = new FakeTimers();
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

  /**
   * @param through stands between the service and its ports
   * @param others further targets; `opa`: OPA is the only target
   * @param isForOpa whether OPA is a target beside these
   */
  constructor(
    snapshot: Snapshot,
    through: <T extends object>(port: T) => T = (port) => port,
    others: readonly RulesTarget[] | 'opa' = [],
    isForOpa = false,
  ) {
    this.snapshot = snapshot;
    const { settings } = parseSettings({ AUTH_SECRET_KEY: TEST_SECRET });
    this.snapshots = new FixedSnapshotStore(this, settings);
    const audit = new AuditService(new FakeAuditStore(this.audited), this.clock, settings, this.log);
    const [target, history] = [through(this.target), through(this.history)];
    this.targets =
      others === 'opa'
        ? new RulesTargets([], true)
        : new RulesTargets([target, ...others], isForOpa, target.key, others.length === 0 && !isForOpa);
    const metrics = new AclSyncMetrics(this.metrics, this.targets);
    const reports = new RunReportsService(
      history,
      audit,
      new MemoryTransaction(this),
      metrics,
      this.log,
      this.guarantees,
    );
    const { preparer, lock, clock, targets, timers } = this;
    const candidates = new CandidateService(this.snapshots, audit, history, preparer, targets, settings, this.log);
    this.previews = new PreviewService(candidates, targets, history, clock, this.guarantees, timers);
    this.service = new AclSyncService(candidates, targets, history, lock, reports, clock, timers);
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
  compilerDigest = 'a build';

  canCompile = true;

  canStage = true;

  /** Number of preparations. */
  prepared = 0;

  readonly tasks: PreparationTasks = {
    ...preparationTasks(this.compilerDigest),
    prepare: (preparation) => {
      this.prepared += 1;
      return this.tamper(prepare(preparation, this.compilerDigest), preparation.snapshot);
    },
    withdraw: (preparation, order) => {
      if (order.how === 'compiled' && !this.canCompile) throw new Error('out of memory');
      return prepareWithdrawal(preparation, this.compilerDigest, order);
    },
    firstStep: (order) => {
      if (!this.canStage) throw new Error('out of memory');
      return firstStep(order);
    },
  };

  override run<Name extends TaskName>(name: Name, ...args: Parameters<PreparationTasks[Name]>) {
    return Promise.resolve().then(() => runTask(this.tasks, { name, args }));
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

  override growthSince(): Promise<Growth> {
    return Promise.resolve({ bytes: 0, isWide: false });
  }
}

class FakeAuditStore extends AuditStore {
  private readonly times = new WeakMap<AuditEntry, Date>();

  constructor(private readonly entries: AuditEntry[]) {
    super(...([] as unknown as ConstructorParameters<typeof AuditStore>));
  }

  override append(entries: readonly AuditEntry[], at: Date): Promise<void> {
    for (const entry of entries) this.times.set(entry, at);
    this.entries.push(...entries);
    return Promise.resolve();
  }

  override endPosition(): Promise<TrailPosition> {
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
