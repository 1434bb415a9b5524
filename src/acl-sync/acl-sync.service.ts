import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import type { Span } from '@opentelemetry/api';
import { AuditService } from '../audit/audit.service.js';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { GuaranteeStore } from '../grants/guarantee.store.js';
import { Clock, Timers } from '../kernel/clock.js';
import { Transaction } from '../platform/database/transaction.js';
import { Log } from '../platform/log/log.js';
import { inSpan } from '../platform/operations/tracing.js';
import { AclSyncMetrics } from './acl-sync.metrics.js';
import { CandidateService } from './candidate.service.js';
import { draftOfFound, type FoundVersion } from './domain/found-version.js';
import { PublicationHistory } from './domain/publication-history.js';
import type { RunEnding, RunOrder, Trigger } from './domain/publication.js';
import { restoreChanges, type RestoreChanges } from './domain/restore.js';
import { RulesTargets } from './domain/rules-target.js';
import { type Lease, SyncLock } from './domain/run-ports.js';
import { type EndedRun, Report, reportRestores, runReport, runRow } from './domain/run-report.js';
import type { Probe } from './heartbeat.service.js';
import { PublishingRun } from './publishing-run.js';

/**
 * Records a run in the history, the audit trail, the log and the metrics. Also records versions of earlier runs that died before they
 * could report them.
 */
@Injectable()
export class RunReportsService implements Probe {
  readonly failureMessage = 'publication gauges could not be refreshed';

  constructor(
    private readonly history: PublicationHistory,
    private readonly audit: AuditService,
    private readonly transaction: Transaction,
    private readonly metrics: AclSyncMetrics,
    private readonly log: Log,
    private readonly guarantees: GuaranteeStore,
  ) {}

  async record(run: EndedRun): Promise<void> {
    const { lastRun: last } = await this.history.summary();
    const report = await this.transaction.run(async () => {
      const unreportedVersions = await this.history.takeUnreported();
      await this.history.record(runRow(run, last));
      for (const { formerRestore, publication } of unreportedVersions)
        await this.endRestore(restoreChanges(formerRestore, publication).ended);
      const report = runReport(run, unreportedVersions, last);
      await this.audit.recordAll(report.events);
      if (run.judgement !== null) await this.guarantees.record(run.judgement.verdicts, run.judgement.at);
      return report;
    });
    this.metrics.runs.inc({ outcome: run.outcome.kind, trigger: run.trigger });
    for (const { event } of report.events) if (event === 'drift_found') this.metrics.drift.inc();
    await this.probe();
    this.logLines(report);
  }

  intervalMs(): number {
    return 15_000;
  }

  /** Sets this process's gauges from the history, because other replicas and commands also add to the history. */
  probe(): Promise<void> {
    return this.metrics.setHistoryGauges(this.history, this.audit, this.guarantees);
  }

  /** Ends a restore outside of a run, and records its end in the audit trail and the log. */
  async recordRestoreEnd(endedRestore: NonNullable<RestoreChanges['ended']>, by: AuditContext): Promise<void> {
    const report = new Report();
    reportRestores(report, { begun: null, ended: endedRestore }, by);
    await this.transaction.run(async () => {
      await this.endRestore(endedRestore);
      await this.audit.recordAll(report.events);
    });
    this.logLines(report);
  }

  private async endRestore(endedRestore: RestoreChanges['ended']): Promise<void> {
    if (endedRestore !== null) await this.history.endRestore(endedRestore.publication, endedRestore.how);
  }

  private logLines({ lines }: Report): void {
    for (const { level, marker, fields } of lines) this.log[level](marker, fields);
  }
}

export type RunResult = { kind: 'busy' } | ({ kind: 'ended' } & Pick<RunEnding, 'outcome' | 'targets'>);

/** Triggers of runs that no request started. Each such run begins its own trace. */
const UNREQUESTED_TRIGGERS: ReadonlySet<Trigger> = new Set(['schedule', 'expiry', 'rollback']);

/** Compiles the snapshot into proved rules and publishes them: plan, check, apply, record. */
@Injectable()
export class AclSyncService implements BeforeApplicationShutdown {
  private readonly runsInProgress = new Set<Promise<unknown>>();
  /** Called after each run of this process. */
  onRunEnded: () => void = () => undefined;

  constructor(
    private readonly candidates: CandidateService,
    private readonly targets: RulesTargets,
    private readonly history: PublicationHistory,
    private readonly lock: SyncLock,
    private readonly reports: RunReportsService,
    private readonly clock: Clock,
    private readonly timers: Timers,
  ) {}

  /** Makes a run. All replicas and commands together make one run at a time. Every failure is recorded as an outcome. */
  async run(order: RunOrder): Promise<RunResult> {
    const { trigger } = order;
    const options = { root: UNREQUESTED_TRIGGERS.has(trigger), attributes: { 'grantline.trigger': trigger } };
    const run = inSpan('rules run', (span) => this.runWhenLocked(order, span), options);
    this.runsInProgress.add(run);
    return run.finally(() => this.runsInProgress.delete(run));
  }

  /**
   * Records a version that OPA has and this history lacks. Its access is not known, so the next version waits for an approval
   * (docs/decisions/0026). Does nothing during a run, after which the instance of OPA shows its version again.
   */
  async recordFound(found: FoundVersion): Promise<void> {
    const { history, clock, targets } = this;
    await this.lock.whileHeld(0, async () => {
      const isAbove = found.version > (await history.highestVersion());
      if (!isAbove && !(await history.isContradicted({ version: found.version, snapshotHash: found.hash }))) return;
      const [baseline, latest] = [await history.baseline(), await history.latest()];
      // Without rules the change is measured by the snapshot, which is not that of the found version.
      const knownBaseline = baseline && targets.all.length === 0 ? { ...baseline, snapshot: '' } : baseline;
      const draft = draftOfFound(found, knownBaseline, latest, 'schedule', clock.now());
      await history.confirm(await history.beginVersion(draft), clock.now());
    });
  }

  /** Waits for all runs, also those whose client has disconnected, before the database connections close. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.allSettled(this.runsInProgress);
  }

  private async runWhenLocked(order: RunOrder, span: Span): Promise<RunResult> {
    const lockResult = await this.lock.whileHeld(order.lockTimeoutMs, (lease) => this.runLocked(order, lease));
    const result = lockResult.kind === 'busy' ? lockResult : lockResult.result;
    span.setAttribute('grantline.outcome', result.kind === 'busy' ? 'busy' : result.outcome.kind);
    return result;
  }

  private async runLocked(order: RunOrder, lease: Lease): Promise<RunResult> {
    const { targets, history, clock, timers, candidates } = this;
    const startedAt = clock.now();
    const { lastRun: last } = await history.summary();
    const ports = { targets, history, clock, timers, candidates };
    const runEnding = await new PublishingRun(ports, order, last?.targets ?? [], lease).publish();
    this.onRunEnded();
    await this.reports.record({ ...order, ...runEnding, startedAt });
    return { kind: 'ended', outcome: runEnding.outcome, targets: runEnding.targets };
  }
}
