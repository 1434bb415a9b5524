import type { AuditContext, AuditEntry, AuditEventName, AuditSubject } from '../../audit/domain/audit-event.js';
import type { LogMarker } from '../../kernel/log-marker.js';
import type { AccessChange } from '../../trino-rules/diff/access-change.js';
import type { ChangedAccess } from '../../trino-rules/diff/access-ledger.js';
import type { Finding } from '../../trino-rules/document/finding.js';
import { withoutSql } from '../../trino-rules/engine/access-fact.js';
import { accessForm, type AccessForm } from './access-text.js';
import type { UnreportedPublication } from './publication-history.js';
import type { Run } from './publication.js';
import { type RestoreChanges, restoreChanges } from './restore.js';
import { actorOf, type EndedRun, endedAlike, newEdits, runRow } from './run-row.js';
import { APPROVED, UNEXPLAINED } from './unexplained-change.js';

/** The report of something that happened: recorded in its transaction, logged after that. */
export interface Report {
  events: readonly AuditEntry[];
  lines: readonly LogLine[];
}

export interface LogLine {
  level: 'info' | 'warn' | 'error';
  marker: LogMarker;
  fields: Readonly<Record<string, unknown>>;
}

/** The most reasons in a log line and an audit event; the history has all. */
const MAX_REASONS = 10;
/** The most gained changes, and the most lost ones. */
const MAX_CHANGES = { logged: 3, recorded: 20 };

/**
 * The run, with every version that was published and not reported: its own, and one whose run died.
 * @param last the run before
 */
export function runReport(ended: EndedRun, unreported: readonly UnreportedPublication[], last: Run | null): Report {
  const { trigger } = ended;
  const edits = newEdits(ended, unreported, last).map(({ textHash: text_hash, overwritten, by }): Report => ({
    events: [{ event: 'drift_found', ...by, subject: null, details: { trigger, text_hash } }],
    lines: [line('warn', 'TRINO_ACL_SYNC_DRIFT', { text_hash, overwritten })],
  }));
  const published = unreported.map((each) => publicationReport(each, actorOf(each.publication, ended)));
  const own = outcomeReport(ended);
  // Equal refusals in a row are one audit event, not one every five minutes.
  const isRepeated = endedAlike(runRow(ended, last), last);
  return combined([...edits, ...published, isRepeated ? { ...own, events: [] } : own]);
}

function combined(reports: readonly Report[]): Report {
  return { events: reports.flatMap(({ events }) => events), lines: reports.flatMap(({ lines }) => lines) };
}

function line(level: LogLine['level'], marker: LogMarker, fields: LogLine['fields']): LogLine {
  return { level, marker, fields };
}

/** Restores that begin and end. */
export function restoreReport({ begun, ended }: RestoreChanges, by: AuditContext): Report {
  const about = (event: AuditEventName, version: number, details: AuditEntry['details']): AuditEntry => ({
    event,
    ...by,
    subject: aboutVersion(version),
    details,
  });
  const end = ended && {
    events: [about('restore_ended', ended.version, { publication: ended.publication, how: ended.how })],
    lines: [line('info', 'TRINO_ACL_RESTORE_ENDED', { ...ended })],
  };
  const begin = begun && {
    events: [
      about('publication_restored', begun.version, {
        publication: begun.publication,
        until: begun.until.toISOString(),
        reason: begun.reason,
      }),
    ],
    lines: [line('warn', 'TRINO_ACL_RESTORED', { ...begun })],
  };
  return combined([...(end ? [end] : []), ...(begin ? [begin] : [])]);
}

/** All that follows from a published version itself. */
function publicationReport({ publication, isWritten, formerRestore }: UnreportedPublication, by: AuditContext): Report {
  const { version, hash, rules, bytes, diff, access, isWithdrawal, isFound, trigger, checks } = publication;
  const entry = (event: AuditEventName, subject: AuditSubject | null, details: AuditEntry['details']): AuditEntry => ({
    event,
    ...by,
    subject,
    details: { trigger, ...details },
  });
  const reports: Report[] = [];
  const unexplained = checks.find(({ code }) => code === UNEXPLAINED || code === APPROVED);
  if (isWritten && unexplained !== undefined) {
    reports.push({
      events: [entry('unexplained_change', null, { message: unexplained.message })],
      lines: [line('warn', 'TRINO_ACL_UNEXPLAINED_CHANGE', { trigger, ...loggedFinding(unexplained) })],
    });
  }
  if (isFound) {
    reports.push({
      events: [entry('database_behind', aboutVersion(version), { hash })],
      lines: [line('error', 'TRINO_ACL_DATABASE_BEHIND', { trigger, version, hash })],
    });
  }
  reports.push(restoreReport(restoreChanges(formerRestore, publication), by));
  if (isWritten) {
    const [added, removed] = [diff.added.length, diff.removed.length];
    const details = { ...(isWithdrawal && { is_withdrawal: true }), access: access && loggedAccess(access) };
    const recorded = access && accessForm(access, MAX_CHANGES.recorded);
    reports.push({
      events: [
        entry('publication_applied', aboutVersion(version), {
          hash,
          rules,
          bytes,
          is_withdrawal: isWithdrawal,
          access: recorded,
        }),
      ],
      lines: [
        line('info', 'TRINO_ACL_SYNC_APPLIED', { trigger, version, hash, rules, bytes, added, removed, ...details }),
      ],
    });
  }
  return combined(reports);
}

/** A publication is reported with its version. */
function outcomeReport({ outcome, trigger, by }: EndedRun): Report {
  switch (outcome.kind) {
    case 'applied':
      return { events: [], lines: [] };
    case 'no_change': {
      const { version, hash } = outcome.publication;
      return { events: [], lines: [line('info', 'TRINO_ACL_SYNC_NO_CHANGE', { trigger, version, hash })] };
    }
    case 'refused': {
      const { awaits } = outcome;
      const reasons = outcome.reasons.slice(0, MAX_REASONS);
      const counted = { reasons: reasons.map(loggedFinding), reasons_in_all: outcome.reasons.length };
      return {
        events: [{ event: 'publication_refused', ...by, subject: null, details: { trigger, awaits, reasons } }],
        lines: [line('error', 'TRINO_ACL_SYNC_REFUSED', { trigger, awaits, ...counted })],
      };
    }
    case 'failed': {
      const { reason, message, auditId, cause } = outcome.failure;
      const details = { trigger, reason, message, audit_id: auditId };
      const err = reason === 'internal' ? { err: cause } : {};
      return {
        events: [{ event: 'publication_failed', ...by, subject: null, details }],
        lines: [line('error', 'TRINO_ACL_SYNC_FAILED', { ...details, ...err })],
      };
    }
  }
}

function aboutVersion(version: number): AuditSubject {
  return { type: 'publication', id: String(version), name: null };
}

/** Without the witness: a rule's text holds filters and masks. */
function loggedFinding({ code, severity, rule, message }: Finding): Finding {
  return { code, severity, message: withoutSql(message), ...(rule !== undefined && { rule }) };
}

function loggedAccess(access: AccessChange): AccessForm {
  const logged = (changes: readonly ChangedAccess[]): ChangedAccess[] =>
    changes.map((change) => ({ ...change, what: withoutSql(change.what) }));
  const { gained, lost, ...counts } = accessForm(access, MAX_CHANGES.logged);
  return { ...counts, gained: logged(gained), lost: logged(lost) };
}
