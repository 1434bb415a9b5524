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
import { APPROVED_CODE, UNEXPLAINED_CODE } from './unexplained-change.js';

/** Audit events and log lines of a run. Events are recorded in the run's transaction, and lines are logged afterwards. */
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
/** The most gains, and the most losses, in a log line and in an audit event. */
const MAX_REPORTED_CHANGES = { logged: 3, recorded: 20 };

/**
 * The report of a run, with every published version that was not reported yet: versions of this run, and of runs that died.
 * @param lastRun the previous run
 */
export function runReport(run: EndedRun, unreported: readonly UnreportedPublication[], lastRun: Run | null): Report {
  const { trigger } = run;
  const report = new Report();
  for (const { textHash: text_hash, overwritten, by } of unreportedEdits(run, unreported, lastRun)) {
    report.addEvent('drift_found', by, null, { trigger, text_hash });
    report.addLine('warn', 'TRINO_ACL_SYNC_DRIFT', { text_hash, overwritten });
  }
  for (const each of unreported) reportPublication(report, each, actorOf(each.publication, run));
  // Consecutive equal refusals make one audit event instead of one every five minutes.
  reportOutcome(report, run, isSameOutcome(runRow(run, lastRun), lastRun));
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
  const unexplainedFinding = checks.find(({ code }) => code === UNEXPLAINED_CODE || code === APPROVED_CODE);
  if (isWritten && unexplainedFinding !== undefined) {
    report.addEvent('unexplained_change', by, null, { trigger, message: unexplainedFinding.message });
    report.addLine('warn', 'TRINO_ACL_UNEXPLAINED_CHANGE', { trigger, ...findingForLog(unexplainedFinding) });
  }
  if (isFound) {
    report.addEvent('database_behind', by, version, { trigger, hash });
    report.addLine('error', 'TRINO_ACL_DATABASE_BEHIND', { trigger, version, hash });
  }
  reportRestores(report, restoreChanges(formerRestore, publication), by);
  if (!isWritten) return;
  const recordedAccess = access && accessForm(access, MAX_REPORTED_CHANGES.recorded);
  const versionFields = { hash, rules, bytes };
  const eventDetails = { trigger, ...versionFields, is_withdrawal: isWithdrawal, access: recordedAccess };
  report.addEvent('publication_applied', by, version, eventDetails);
  const changeCounts = { added: diff.added.length, removed: diff.removed.length };
  const details = { ...(isWithdrawal && { is_withdrawal: true }), access: access && loggedAccess(access) };
  report.addLine('info', 'TRINO_ACL_SYNC_APPLIED', { trigger, version, ...versionFields, ...changeCounts, ...details });
}

function reportOutcome(report: Report, { outcome, trigger, by }: EndedRun, isSameAsLast: boolean): void {
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
      const firstReasons = outcome.reasons.slice(0, MAX_REASONS);
      const loggedReasons = { reasons: firstReasons.map(findingForLog), reasons_in_all: outcome.reasons.length };
      if (!isSameAsLast) report.addEvent('publication_refused', by, null, { trigger, awaits, reasons: firstReasons });
      report.addLine('error', 'TRINO_ACL_SYNC_REFUSED', { trigger, awaits, ...loggedReasons });
      return;
    }
    case 'failed': {
      const { reason, message, auditId, cause } = outcome.failure;
      const details = { trigger, reason, message, audit_id: auditId };
      if (!isSameAsLast) report.addEvent('publication_failed', by, null, details);
      report.addLine('error', 'TRINO_ACL_SYNC_FAILED', { ...details, ...(reason === 'internal' && { err: cause }) });
    }
  }
}

/** A finding without its witness, which can quote a rule with its filters and masks. */
function findingForLog({ code, severity, rule, message }: Finding): Finding {
  return { code, severity, message: withoutSql(message), ...(rule !== undefined && { rule }) };
}

function loggedAccess(access: AccessChange): AccessForm {
  const withoutExpressions = (changes: readonly ChangedAccess[]): ChangedAccess[] =>
    changes.map((change) => ({ ...change, what: withoutSql(change.what) }));
  const { gained, lost, ...counts } = accessForm(access, MAX_REPORTED_CHANGES.logged);
  return { ...counts, gained: withoutExpressions(gained), lost: withoutExpressions(lost) };
}

export interface EndedRun extends Pick<RunOrder, 'trigger' | 'by' | 'restore'>, RunEnding {
  startedAt: Date;
}

export function runRow(run: EndedRun, lastRun: Run | null): Run {
  const { trigger, by, outcome, startedAt: at, restore, targets } = run;
  const [drift, waiting] = [driftOf(run, lastRun), waitingChangeAfter(run, lastRun)];
  return {
    at,
    trigger,
    triggeredBy: by.actor && { id: by.actor.id, name: by.actor.username },
    outcome: outcome.kind,
    isRestore: restore !== undefined,
    reasons: reasonsOf(outcome),
    drift,
    waiting,
    targets,
  };
}

/** Edits by hand that are not reported yet: found by this run, or overwritten by runs that died before reporting. */
export function unreportedEdits(
  run: EndedRun,
  unreported: readonly UnreportedPublication[],
  lastRun: Run | null,
): (Edit & { overwritten: boolean; by: AuditContext })[] {
  const ownPublication = publishedBy(run);
  const foundEdits = unreported.flatMap(({ publication }) =>
    publication.edit === null || publication.version === ownPublication?.version
      ? []
      : { ...publication.edit, overwritten: true, by: actorOf(publication, run) },
  );
  if (run.edit !== null) foundEdits.push({ ...run.edit, overwritten: ownPublication !== null, by: run.by });
  const formerEdit = knownEdit(lastRun);
  return foundEdits.filter(({ textHash }) => formerEdit?.textHash !== textHash);
}

function publishedBy({ outcome }: EndedRun): Publication | null {
  const decidedOutcome = outcome.kind === 'failed' ? outcome.outcomeElsewhere : outcome;
  return decidedOutcome === null || decidedOutcome.kind === 'no_change' ? null : decidedOutcome.publication;
}

function isOutcomeUnknown({ outcome }: EndedRun): boolean {
  return outcome.kind === 'failed' && outcome.outcomeElsewhere === null;
}

/** The account and the origin of a version. If an earlier run published the version and died, only the account is known. */
function actorOf({ version, triggeredBy }: Publication, run: EndedRun): AuditContext {
  if (version === publishedBy(run)?.version) return run.by;
  return { actor: triggeredBy && { id: triggeredBy.id, username: triggeredBy.name }, origin: null };
}

/** The edit by hand that the previous run found and did not overwrite; null: none. */
function knownEdit(lastRun: Run | null): Drift | null {
  return lastRun?.drift?.overwritten === false ? lastRun.drift : null;
}

/** The edit by hand that this run found. If the previous run found the same edit, the time of that finding is kept. */
function driftOf(run: EndedRun, lastRun: Run | null): Drift | null {
  const { edit, startedAt } = run;
  const knownDrift = knownEdit(lastRun);
  // A run that could read no target repeats the previous run's finding.
  if (edit === null) return isOutcomeUnknown(run) ? knownDrift : null;
  const foundAt = knownDrift?.textHash === edit.textHash ? knownDrift.foundAt : startedAt;
  return { ...edit, foundAt, overwritten: publishedBy(run) !== null };
}

/** The change that waits for an approval after a run; null: none. `since` is the start of the wait, even if the hash has changed since then. */
function waitingChangeAfter(run: EndedRun, lastRun: Run | null): Run['waiting'] {
  const { outcome, startedAt, restore } = run;
  const formerWaitingChange = lastRun?.waiting ?? null;
  if (isOutcomeUnknown(run) || restore !== undefined) return formerWaitingChange;
  if (outcome.kind !== 'refused' || outcome.awaits === null) return null;
  return { hash: outcome.awaits, since: formerWaitingChange?.since ?? startedAt, reasons: outcome.reasons };
}

function isSameOutcome(run: Run, lastRun: Run | null): boolean {
  const keyOf = ({ outcome, reasons }: Run) =>
    JSON.stringify([outcome, reasons.map(({ code, message }) => [code, message])]);
  return lastRun !== null && keyOf(lastRun) === keyOf(run);
}
