import type { AuditContext, AuditEntry, AuditEventName } from '../../audit/domain/audit-event.js';
import type { LogMarker } from '../../kernel/log-marker.js';
import type { AccessChange, ChangedAccess } from '../../trino-rules/diff/access-change.js';
import type { Finding } from '../../trino-rules/document/finding.js';
import { withoutSql } from '../../trino-rules/engine/access-fact.js';
import { accessForm, type AccessForm } from './access-text.js';
import type { UnreportedPublication } from './publication-history.js';
import {
  type Drift,
  type Edit,
  type Publication,
  reasonsOf,
  type Run,
  type RunEnding,
  type RunOrder,
} from './publication.js';
import { type RestoreChanges, restoreChanges } from './restore.js';
import { APPROVED, UNEXPLAINED } from './unexplained-change.js';

/** Audit events and log lines of a run. Events are recorded in its transaction, and lines are logged afterwards. */
export class Report {
  readonly events: AuditEntry[] = [];
  readonly lines: LogLine[] = [];

  addEvent(event: AuditEventName, by: AuditContext, version: number | null, details: AuditEntry['details']): void {
    const subject = version === null ? null : { type: 'publication' as const, id: String(version), name: null };
    this.events.push({ event, ...by, subject, details });
  }

  addLine(level: LogLine['level'], marker: LogMarker, fields: LogLine['fields']): void {
    this.lines.push({ level, marker, fields });
  }
}

interface LogLine {
  level: 'info' | 'warn' | 'error';
  marker: LogMarker;
  fields: Readonly<Record<string, unknown>>;
}

/** The most reasons in a log line and an audit event; the history has all. */
const MAX_REASONS = 10;
/** The most listed gains, and the most listed losses. */
const MAX_CHANGES = { logged: 3, recorded: 20 };

/**
 * The report of a run, with every published version that was not reported: its own, and those of runs that died.
 * @param last the run before
 */
export function runReport(ended: EndedRun, unreported: readonly UnreportedPublication[], last: Run | null): Report {
  const { trigger } = ended;
  const report = new Report();
  for (const { textHash: text_hash, overwritten, by } of newEdits(ended, unreported, last)) {
    report.addEvent('drift_found', by, null, { trigger, text_hash });
    report.addLine('warn', 'TRINO_ACL_SYNC_DRIFT', { text_hash, overwritten });
  }
  for (const each of unreported) reportPublication(report, each, actorOf(each.publication, ended));
  // Consecutive equal refusals make one audit event instead of one every five minutes.
  reportOutcome(report, ended, endedAlike(runRow(ended, last), last));
  return report;
}

export function reportRestores(report: Report, { begun, ended }: RestoreChanges, by: AuditContext): void {
  if (ended !== null) {
    const { version, publication, how } = ended;
    report.addEvent('restore_ended', by, version, { publication, how });
    report.addLine('info', 'TRINO_ACL_RESTORE_ENDED', { ...ended });
  }
  if (begun !== null) {
    const { version, publication, until, reason } = begun;
    report.addEvent('publication_restored', by, version, { publication, until: until.toISOString(), reason });
    report.addLine('warn', 'TRINO_ACL_RESTORED', { ...begun });
  }
}

function reportPublication(
  report: Report,
  { publication, isWritten, formerRestore }: UnreportedPublication,
  by: AuditContext,
): void {
  const { version, hash, rules, bytes, diff, access, isWithdrawal, isFound, trigger, checks } = publication;
  const unexplained = checks.find(({ code }) => code === UNEXPLAINED || code === APPROVED);
  if (isWritten && unexplained !== undefined) {
    report.addEvent('unexplained_change', by, null, { trigger, message: unexplained.message });
    report.addLine('warn', 'TRINO_ACL_UNEXPLAINED_CHANGE', { trigger, ...loggedFinding(unexplained) });
  }
  if (isFound) {
    report.addEvent('database_behind', by, version, { trigger, hash });
    report.addLine('error', 'TRINO_ACL_DATABASE_BEHIND', { trigger, version, hash });
  }
  reportRestores(report, restoreChanges(formerRestore, publication), by);
  if (!isWritten) return;
  const recorded = access && accessForm(access, MAX_CHANGES.recorded);
  const terms = { hash, rules, bytes };
  const applied = { trigger, ...terms, is_withdrawal: isWithdrawal, access: recorded };
  report.addEvent('publication_applied', by, version, applied);
  const changed = { added: diff.added.length, removed: diff.removed.length };
  const details = { ...(isWithdrawal && { is_withdrawal: true }), access: access && loggedAccess(access) };
  report.addLine('info', 'TRINO_ACL_SYNC_APPLIED', { trigger, version, ...terms, ...changed, ...details });
}

function reportOutcome(report: Report, { outcome, trigger, by }: EndedRun, isRepeated: boolean): void {
  switch (outcome.kind) {
    case 'applied':
      return; // the outcome is reported with the version
    case 'no_change': {
      const { version, hash } = outcome.publication;
      report.addLine('info', 'TRINO_ACL_SYNC_NO_CHANGE', { trigger, version, hash });
      return;
    }
    case 'refused': {
      const { awaits } = outcome;
      const reasons = outcome.reasons.slice(0, MAX_REASONS);
      const counted = { reasons: reasons.map(loggedFinding), reasons_in_all: outcome.reasons.length };
      if (!isRepeated) report.addEvent('publication_refused', by, null, { trigger, awaits, reasons });
      report.addLine('error', 'TRINO_ACL_SYNC_REFUSED', { trigger, awaits, ...counted });
      return;
    }
    case 'failed': {
      const { reason, message, auditId, cause } = outcome.failure;
      const details = { trigger, reason, message, audit_id: auditId };
      if (!isRepeated) report.addEvent('publication_failed', by, null, details);
      report.addLine('error', 'TRINO_ACL_SYNC_FAILED', { ...details, ...(reason === 'internal' && { err: cause }) });
    }
  }
}

/** A finding without its witness, because a rule's text contains filters and masks. */
function loggedFinding({ code, severity, rule, message }: Finding): Finding {
  return { code, severity, message: withoutSql(message), ...(rule !== undefined && { rule }) };
}

function loggedAccess(access: AccessChange): AccessForm {
  const logged = (changes: readonly ChangedAccess[]): ChangedAccess[] =>
    changes.map((change) => ({ ...change, what: withoutSql(change.what) }));
  const { gained, lost, ...counts } = accessForm(access, MAX_CHANGES.logged);
  return { ...counts, gained: logged(gained), lost: logged(lost) };
}

export interface EndedRun extends Pick<RunOrder, 'trigger' | 'by' | 'restore'>, RunEnding {
  startedAt: Date;
}

export function runRow(ended: EndedRun, last: Run | null): Run {
  const { trigger, by, outcome, startedAt: at, restore } = ended;
  const [drift, waiting] = [driftOf(ended, last), waitingAfter(ended, last)];
  return {
    at,
    trigger,
    triggeredBy: by.actor && { id: by.actor.id, name: by.actor.username },
    outcome: outcome.kind,
    isRestore: restore !== undefined,
    reasons: reasonsOf(outcome),
    drift,
    waiting,
  };
}

/** Edits by hand that no run has reported: found by this run, or overwritten by runs that died afterwards. */
export function newEdits(
  ended: EndedRun,
  unreported: readonly UnreportedPublication[],
  last: Run | null,
): (Edit & { overwritten: boolean; by: AuditContext })[] {
  const own = publishedBy(ended);
  const found = unreported.flatMap(({ publication }) =>
    publication.edit === null || publication.version === own?.version
      ? []
      : { ...publication.edit, overwritten: true, by: actorOf(publication, ended) },
  );
  if (ended.edit !== null) found.push({ ...ended.edit, overwritten: own !== null, by: ended.by });
  const known = knownEdit(last);
  return found.filter(({ textHash }) => known?.textHash !== textHash);
}

function publishedBy({ outcome }: EndedRun): Publication | null {
  return outcome.kind === 'applied' || outcome.kind === 'refused' ? outcome.publication : null;
}

/** The actor of a version. If its run died, only the account is known. */
function actorOf({ version, triggeredBy }: Publication, ended: EndedRun): AuditContext {
  if (version === publishedBy(ended)?.version) return ended.by;
  return { actor: triggeredBy && { id: triggeredBy.id, username: triggeredBy.name }, origin: null };
}

/** An edit that the run before found and did not overwrite. */
function knownEdit(last: Run | null): Drift | null {
  return last?.drift?.overwritten === false ? last.drift : null;
}

/** The edit that this run found. One that the run before found too keeps its time. */
function driftOf(ended: EndedRun, last: Run | null): Drift | null {
  const { edit, startedAt, outcome } = ended;
  const known = knownEdit(last);
  // A failed run could not read the live text.
  if (edit === null) return outcome.kind === 'failed' ? known : null;
  const foundAt = known?.textHash === edit.textHash ? known.foundAt : startedAt;
  return { ...edit, foundAt, overwritten: publishedBy(ended) !== null };
}

/**
 * A change waits until a run does not refuse it; `since`: the first of those runs, even if the text changed meanwhile. A failed run
 * and the request for a restore leave the pending approval unchanged.
 */
function waitingAfter({ outcome, startedAt, restore }: EndedRun, last: Run | null): Run['waiting'] {
  const known = last?.waiting ?? null;
  if (outcome.kind === 'failed' || restore !== undefined) return known;
  if (outcome.kind !== 'refused' || outcome.awaits === null) return null;
  return { hash: outcome.awaits, since: known?.since ?? startedAt, reasons: outcome.reasons };
}

function endedAlike(run: Run, last: Run | null): boolean {
  const key = ({ outcome, reasons }: Run) =>
    JSON.stringify([outcome, reasons.map(({ code, message }) => [code, message])]);
  return last !== null && key(last) === key(run);
}
