import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import type { AuditContext, AuditEventName } from '../audit/domain/audit-event.js';
import { Log } from '../platform/log.js';
import { Transaction } from '../platform/transaction.js';
import { AclSyncMetrics } from './acl-sync.metrics.js';
import { type Drift, type Edit, type Publication, reasonsOf, type Run } from './domain/publication.js';
import { PublicationHistory, type UnreportedPublication } from './domain/publication-history.js';
import { loggedFinding, PublicationReports } from './publication-reports.service.js';
import type { RunEnding, RunOrder } from './publishing-run.js';

/** A run that ended. */
export interface RunReport extends Pick<RunOrder, 'trigger' | 'by' | 'restore'>, RunEnding {
  startedAt: Date;
}

/** An edit by hand that was not reported yet. */
type FoundEdit = Edit & { overwritten: boolean; by: AuditContext };

/** The most reasons in a log line and an audit event; the history has all. */
const MAX_REASONS = 10;

/**
 * Records a run in the history, the audit trail, the log and the metrics; and with it the version that a run published that
 * died before it could report.
 */
@Injectable()
export class RunReportsService {
  constructor(
    private readonly history: PublicationHistory,
    private readonly audit: AuditService,
    private readonly publications: PublicationReports,
    private readonly transaction: Transaction,
    private readonly metrics: AclSyncMetrics,
    private readonly log: Log,
  ) {}

  async record(report: RunReport): Promise<void> {
    const { trigger, outcome, startedAt: at } = report;
    const { last } = await this.history.summary();
    const [drift, waiting] = [driftOf(report, last), waitingAfter(report, last)];
    const isRestore = report.restore !== undefined;
    const run: Run = { at, trigger, outcome: outcome.kind, isRestore, reasons: reasonsOf(outcome), drift, waiting };
    const { unreported, edits } = await this.transaction.run(async () => {
      const unreported = await this.history.takeUnreported();
      const edits = newEdits(report, unreported, last);
      await this.history.record(run);
      for (const { textHash, by } of edits) await this.recordEvent('drift_found', report, { text_hash: textHash }, by);
      for (const each of unreported) await this.publications.record(each, actorOf(each, report));
      // Equal refusals in a row are one audit event, not one every five minutes.
      if (!isLike(run, last)) await this.recordRefusal(report);
      return { unreported, edits };
    });
    this.metrics.ran(outcome.kind, trigger);
    for (const { textHash, overwritten } of edits) {
      this.metrics.foundDrift();
      this.log.warn('TRINO_ACL_SYNC_DRIFT', { text_hash: textHash, overwritten });
    }
    await this.metrics.showHistory(this.history, this.audit);
    for (const each of unreported) this.publications.write(each);
    this.write(report);
  }

  private async recordRefusal(report: RunReport): Promise<void> {
    const { outcome } = report;
    if (outcome.kind === 'refused') {
      const { awaits, reasons } = outcome;
      await this.recordEvent('publication_refused', report, { awaits, reasons: reasons.slice(0, MAX_REASONS) });
    }
    if (outcome.kind === 'failed') {
      const { reason, message, auditId } = outcome.failure;
      await this.recordEvent('publication_failed', report, { reason, message, audit_id: auditId });
    }
  }

  private recordEvent(
    event: AuditEventName,
    { trigger, by: own }: RunReport,
    details: Record<string, unknown>,
    by = own,
  ): Promise<void> {
    return this.audit.record({ event, ...by, subject: null, details: { trigger, ...details } });
  }

  private write({ outcome, trigger }: RunReport): void {
    switch (outcome.kind) {
      case 'applied':
        return; // reported with its version
      case 'no_change':
        this.log.info('TRINO_ACL_SYNC_NO_CHANGE', {
          trigger,
          version: outcome.publication.version,
          hash: outcome.publication.hash,
        });
        return;
      case 'refused':
        this.log.error('TRINO_ACL_SYNC_REFUSED', {
          trigger,
          awaits: outcome.awaits,
          reasons: outcome.reasons.slice(0, MAX_REASONS).map(loggedFinding),
          reasons_in_all: outcome.reasons.length,
        });
        return;
      case 'failed': {
        const { reason, message, auditId, cause } = outcome.failure;
        const err = reason === 'internal' ? { err: cause } : {};
        this.log.error('TRINO_ACL_SYNC_FAILED', { trigger, reason, message, audit_id: auditId, ...err });
      }
    }
  }
}

/** The version that the run has published; null: none. */
function publishedBy({ outcome }: RunReport): Publication | null {
  return outcome.kind === 'applied' || outcome.kind === 'refused' ? outcome.publication : null;
}

/** Of a version whose run died, only the account is known. */
function actorOf({ publication }: UnreportedPublication, report: RunReport): AuditContext {
  const isOwn = publication.version === publishedBy(report)?.version;
  if (isOwn) return report.by;
  const { triggeredBy } = publication;
  return { actor: triggeredBy && { id: triggeredBy.id, username: triggeredBy.name }, origin: null };
}

/** An edit that the run before found, and that is still there. */
function knownEdit(last: Run | null): Drift | null {
  return last?.drift?.overwritten === false ? last.drift : null;
}

function newEdits(report: RunReport, unreported: readonly UnreportedPublication[], last: Run | null): FoundEdit[] {
  const own = publishedBy(report);
  const found: FoundEdit[] = unreported.flatMap((each) =>
    each.publication.edit === null || each.publication.version === own?.version
      ? []
      : { ...each.publication.edit, overwritten: true, by: actorOf(each, report) },
  );
  if (report.edit !== null) found.push({ ...report.edit, overwritten: own !== null, by: report.by });
  const known = knownEdit(last);
  return found.filter(({ textHash }) => known?.textHash !== textHash);
}

/**
 * A change waits until a run does not refuse it; `since`: the first of those runs, even if the text changed meanwhile. A failed run
 * and the request for a restore leave the pending approval unchanged.
 */
function waitingAfter({ outcome, startedAt, restore }: RunReport, last: Run | null): Run['waiting'] {
  const known = last?.waiting ?? null;
  if (outcome.kind === 'failed' || restore !== undefined) return known;
  if (outcome.kind !== 'refused' || outcome.awaits === null) return null;
  return { hash: outcome.awaits, since: known?.since ?? startedAt, reasons: outcome.reasons };
}

/** An edit that the run before found already keeps its time; a publication has overwritten any earlier one. */
function driftOf(report: RunReport, last: Run | null): Drift | null {
  const { edit, startedAt, outcome } = report;
  const known = knownEdit(last);
  // A failed run could not read the live text.
  if (edit === null) return outcome.kind === 'failed' ? known : null;
  const foundAt = known?.textHash === edit.textHash ? known.foundAt : startedAt;
  return { ...edit, foundAt, overwritten: publishedBy(report) !== null };
}

function isLike(run: Run, last: Run | null): boolean {
  const key = ({ outcome, reasons }: Run) =>
    JSON.stringify([outcome, reasons.map(({ code, message }) => [code, message])]);
  return last !== null && key(last) === key(run);
}
