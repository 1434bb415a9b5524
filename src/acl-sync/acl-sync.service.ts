import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import type { Span } from '@opentelemetry/api';
import { AuditService } from '../audit/audit.service.js';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { GuaranteeStore } from '../grants/guarantee.store.js';
import { Clock } from '../kernel/clock.js';
import { Transaction } from '../platform/database/transaction.js';
import { Log } from '../platform/log/log.js';
import { inSpan } from '../platform/operations/tracing.js';
import { AclSyncMetrics } from './acl-sync.metrics.js';
import { CandidateService } from './candidate.service.js';
import { PublicationHistory } from './domain/publication-history.js';
import { failureOf, type RunEnding, type RunOrder, type RunOutcome, type Trigger } from './domain/publication.js';
import { restoreChanges, type RestoreChanges } from './domain/restore.js';
import { RulesTarget } from './domain/rules-target.js';
import { type Lease, RulesPreparer, SyncLock } from './domain/run-ports.js';
import { type EndedRun, Report, reportRestores, runReport, runRow } from './domain/run-report.js';
import type { Probe } from './heartbeat.service.js';
import { PublishingRun } from './publishing-run.js';

/**
 * Records a run in the history, the audit trail, the log and the metrics. Also records versions of earlier runs that died before they
 * could report them.
 */
@Injectable()
export class RunReportsService implements Probe {
  readonly failure = 'publication gauges could not be refreshed';

  constructor(
    private readonly history: PublicationHistory,
    private readonly audit: AuditService,
    private readonly transaction: Transaction,
    private readonly metrics: AclSyncMetrics,
    private readonly log: Log,
    private readonly guarantees: GuaranteeStore,
  ) {}

  async record(ended: EndedRun): Promise<void> {
    const { last } = await this.history.summary();
    const report = await this.transaction.run(async () => {
      const unreported = await this.history.takeUnreported();
      await this.history.record(runRow(ended, last));
      for (const { formerRestore, publication } of unreported)
        await this.endRestore(restoreChanges(formerRestore, publication).ended);
      const report = runReport(ended, unreported, last);
      await this.audit.recordAll(report.events);
      if (ended.judged !== null) await this.guarantees.record(ended.judged.verdicts, ended.judged.at);
      return report;
    });
    this.metrics.countRun(ended.outcome.kind, ended.trigger);
    for (const { event } of report.events) if (event === 'drift_found') this.metrics.countDrift();
    await this.probe();
    this.logLines(report);
  }

  interval(): number {
    return 15_000;
  }

  /** Sets this process's gauges from the history, because other replicas and commands write it too. */
  probe(): Promise<void> {
    return this.metrics.showHistory(this.history, this.audit, this.guarantees);
  }

  /** Ends a restore without a run. */
  async recordRestoreEnd(ended: NonNullable<RestoreChanges['ended']>, by: AuditContext): Promise<void> {
    const report = new Report();
    reportRestores(report, { begun: null, ended }, by);
    await this.transaction.run(async () => {
      await this.endRestore(ended);
      await this.audit.recordAll(report.events);
    });
    this.logLines(report);
  }

  private async endRestore(ended: RestoreChanges['ended']): Promise<void> {
    if (ended !== null) await this.history.endRestore(ended.publication, ended.how);
  }

  private logLines({ lines }: Report): void {
    for (const { level, marker, fields } of lines) this.log[level](marker, fields);
  }
}

export type RunResult = { kind: 'busy' } | { kind: 'ended'; outcome: RunOutcome };

/** Triggers of runs without a request. Each such run begins its own trace. */
const ROOTS: ReadonlySet<Trigger> = new Set(['schedule', 'expiry', 'rollback']);

/** Compiles the snapshot into proved rules and publishes them: plan, check, apply, record. */
@Injectable()
export class AclSyncService implements BeforeApplicationShutdown {
  private readonly running = new Set<Promise<unknown>>();

  constructor(
    private readonly candidates: CandidateService,
    private readonly preparer: RulesPreparer,
    private readonly target: RulesTarget,
    private readonly history: PublicationHistory,
    private readonly lock: SyncLock,
    private readonly reports: RunReportsService,
    private readonly clock: Clock,
  ) {}

  /** Makes a run, one at a time in all replicas and commands. Records every failure as an outcome. */
  async run(order: RunOrder): Promise<RunResult> {
    const { trigger } = order;
    const options = { root: ROOTS.has(trigger), attributes: { 'grantline.trigger': trigger } };
    const run = inSpan('rules run', (span) => this.runWhenLocked(order, span), options);
    this.running.add(run);
    return run.finally(() => this.running.delete(run));
  }

  /** Waits for all runs, also those whose client has disconnected, before the database connections close. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.allSettled(this.running);
  }

  private async runWhenLocked(order: RunOrder, span: Span): Promise<RunResult> {
    const held = await this.lock.whileHeld(order.lockTimeoutMs, (lease) => this.runLocked(order, lease));
    const result = held.kind === 'busy' ? held : held.result;
    span.setAttribute('grantline.outcome', result.kind === 'busy' ? 'busy' : result.outcome.kind);
    return result;
  }

  private async runLocked(order: RunOrder, lease: Lease): Promise<RunResult> {
    const startedAt = this.clock.now();
    let ending: RunEnding;
    try {
      const { target, history, preparer, clock, candidates } = this;
      const ports = { target, history, preparer, clock, candidates };
      ending = await new PublishingRun(ports, await candidates.read(), order, lease).publish();
    } catch (error) {
      ending = { outcome: { kind: 'failed', failure: failureOf(error) }, edit: null, judged: null };
    }
    await this.reports.record({ ...order, ...ending, startedAt });
    return { kind: 'ended', outcome: ending.outcome };
  }
}
