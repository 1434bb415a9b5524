import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import type { AuditEventName } from '../audit/domain/audit-event.js';
import { Log } from '../platform/log.js';
import { Transaction } from '../platform/transaction.js';
import type { AccessChange } from '../trino-rules/diff/access-change.js';
import type { ChangedAccess } from '../trino-rules/diff/access-ledger.js';
import type { Finding } from '../trino-rules/document/finding.js';
import { withoutSql } from '../trino-rules/engine/access-fact.js';
import { AclSyncMetrics } from './acl-sync.metrics.js';
import { accessForm, type AccessForm } from './domain/access-text.js';
import { PublicationHistory } from './domain/publication-history.js';
import {
  type Drift,
  type RunOutcome,
  type Publication,
  reasonsOf,
  type Run,
  type Trigger,
} from './domain/publication.js';
import { APPROVED, UNEXPLAINED } from './domain/unexplained-change.js';
import type { RunEnding, RunOrder } from './publishing-run.js';
import { RestoreReports } from './restore-reports.service.js';

/** A run that ended. */
export interface RunReport extends Pick<RunOrder, 'trigger' | 'by'>, RunEnding {
  startedAt: Date;
}

/** The most reasons in a log line and an audit event; the history has all. */
const MAX_REASONS = 10;
/** The most gained changes in a log line, and the most lost ones. */
const CHANGES_LOGGED = 3;
const MAX_CHANGES = 20;

/** Records a run in the history, the audit trail, the log and the metrics. */
@Injectable()
export class RunReportsService {
  constructor(
    private readonly history: PublicationHistory,
    private readonly audit: AuditService,
    private readonly restores: RestoreReports,
    private readonly transaction: Transaction,
    private readonly metrics: AclSyncMetrics,
    private readonly log: Log,
  ) {}

  async record(report: RunReport): Promise<void> {
    const { trigger, outcome, startedAt: at } = report;
    const { last } = await this.history.summary();
    const drift = driftOf(report, last);
    const waiting = waitingAfter(report, last);
    const run: Run = { at, trigger, outcome: outcome.kind, reasons: reasonsOf(outcome), drift, waiting };
    const isNewEdit = drift !== null && drift.foundAt === at;
    const unexplained = unexplainedIn(outcome);
    await this.transaction.run(async () => {
      await this.history.record(run);
      if (unexplained !== undefined)
        await this.recordEvent('unexplained_change', report, { message: unexplained.message });
      if (isNewEdit) await this.recordEvent('drift_found', report, { text_hash: drift.textHash });
      await this.restores.record(report.restores, report.by);
      // Equal refusals in a row are one audit event, not one every five minutes.
      if (outcome.kind === 'applied' || !isLike(run, last)) await this.recordOutcome(report);
      if (outcome.kind === 'refused' && outcome.publication !== null)
        await this.recordApplied(report, outcome.publication);
    });
    this.metrics.ran(outcome.kind, trigger);
    if (unexplained !== undefined) {
      this.metrics.publishedUnexplained();
      this.log.warn('TRINO_ACL_UNEXPLAINED_CHANGE', { trigger, ...loggedFinding(unexplained) });
    }
    if (isNewEdit) this.metrics.foundDrift();
    await this.metrics.showHistory(this.history);
    this.write(report, isNewEdit ? drift : null);
  }

  private async recordOutcome(report: RunReport): Promise<void> {
    const { outcome } = report;
    switch (outcome.kind) {
      case 'no_change':
        return;
      case 'applied':
        return this.recordApplied(report, outcome.publication);
      case 'refused': {
        const { awaits, reasons } = outcome;
        return this.recordEvent('publication_refused', report, { awaits, reasons: reasons.slice(0, MAX_REASONS) });
      }
      case 'failed': {
        const { reason, message, auditId } = outcome.failure;
        return this.recordEvent('publication_failed', report, { reason, message, audit_id: auditId });
      }
    }
  }

  private recordApplied(report: RunReport, publication: Publication): Promise<void> {
    const { hash, rules, bytes, access, isWithdrawal } = publication;
    const change = access && accessForm(access, MAX_CHANGES);
    return this.recordEvent('publication_applied', report, {
      hash,
      rules,
      bytes,
      is_withdrawal: isWithdrawal,
      access: change,
    });
  }

  private recordEvent(
    event: AuditEventName,
    { by, trigger, outcome }: RunReport,
    details: Record<string, unknown>,
  ): Promise<void> {
    const publication = outcome.kind === 'applied' || outcome.kind === 'refused' ? outcome.publication : null;
    const id = event === 'publication_applied' && publication !== null ? String(publication.version) : null;
    const subject = id === null ? null : ({ type: 'publication', id, name: null } as const);
    return this.audit.record({ event, ...by, subject, details: { trigger, ...details } });
  }

  private write({ outcome, trigger, restores }: RunReport, drift: Drift | null): void {
    if (drift !== null) {
      this.log.warn('TRINO_ACL_SYNC_DRIFT', { text_hash: drift.textHash, overwritten: outcome.kind === 'applied' });
    }
    this.restores.write(restores);
    switch (outcome.kind) {
      case 'applied':
        this.writeApplied(outcome.publication, trigger);
        return;
      case 'no_change':
        this.log.info('TRINO_ACL_SYNC_NO_CHANGE', {
          trigger,
          version: outcome.publication.version,
          hash: outcome.publication.hash,
        });
        return;
      case 'refused':
        if (outcome.publication !== null) this.writeApplied(outcome.publication, trigger);
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

  private writeApplied(publication: Publication, trigger: Trigger): void {
    const { version, hash, rules, bytes, diff, access, isWithdrawal } = publication;
    const [added, removed] = [diff.added.length, diff.removed.length];
    const details = { ...(isWithdrawal && { is_withdrawal: true }), access: access && loggedAccess(access) };
    this.log.info('TRINO_ACL_SYNC_APPLIED', { trigger, version, hash, rules, bytes, added, removed, ...details });
  }
}

/** Without the witness: a rule's text holds filters and masks. */
function loggedFinding({ code, severity, rule, message }: Finding): Finding {
  return { code, severity, message: withoutSql(message), ...(rule !== undefined && { rule }) };
}

function loggedAccess(access: AccessChange): AccessForm {
  const logged = (changes: readonly ChangedAccess[]): ChangedAccess[] =>
    changes.map((change) => ({ ...change, what: withoutSql(change.what) }));
  const { gained, lost, ...counts } = accessForm(access, CHANGES_LOGGED);
  return { ...counts, gained: logged(gained), lost: logged(lost) };
}

/** `since`: the first of the runs in a row that were refused until an approval, even if the text changed meanwhile. */
function waitingAfter({ outcome, startedAt }: RunReport, last: Run | null): Run['waiting'] {
  const known = last?.waiting ?? null;
  // A failed run leaves the pending approval unchanged.
  if (outcome.kind === 'failed') return known;
  if (outcome.kind !== 'refused' || outcome.awaits === null) return null;
  return { hash: outcome.awaits, since: known?.since ?? startedAt };
}

/** An edit that the run before found already keeps its time; a publication has overwritten any earlier one. */
function driftOf({ edit, startedAt, outcome }: RunReport, last: Run | null): Drift | null {
  const known = last === null || last.outcome === 'applied' ? null : last.drift;
  // A failed run could not read the live text.
  if (edit === undefined) return outcome.kind === 'failed' ? known : null;
  return known?.textHash === edit.textHash ? known : { foundAt: startedAt, textHash: edit.textHash };
}

/** The finding on an unexplained change in a published version. */
function unexplainedIn(outcome: RunOutcome): Finding | undefined {
  if (outcome.kind !== 'applied') return undefined;
  return outcome.publication.checks.find(({ code }) => code === UNEXPLAINED || code === APPROVED);
}

function isLike(run: Run, last: Run | null): boolean {
  const key = ({ outcome, reasons }: Run) =>
    JSON.stringify([outcome, reasons.map(({ code, message }) => [code, message])]);
  return last !== null && key(last) === key(run);
}
