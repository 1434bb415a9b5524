import { Injectable } from '@nestjs/common';
import type { AuditContext, AuditEventName } from '../audit/domain/audit-event.js';
import { AuditService } from '../audit/audit.service.js';
import { Log } from '../platform/log.js';
import type { ChangedAccess } from '../trino-rules/diff/access-ledger.js';
import type { AccessChange } from '../trino-rules/diff/access-change.js';
import type { Finding } from '../trino-rules/document/finding.js';
import { withoutSql } from '../trino-rules/engine/access-fact.js';
import { accessForm, type AccessForm } from './domain/access-text.js';
import type { Publication } from './domain/publication.js';
import type { UnreportedPublication } from './domain/publication-history.js';
import { restoreChanges } from './domain/restore.js';
import { APPROVED, UNEXPLAINED } from './domain/unexplained-change.js';
import { RestoreReports } from './restore-reports.service.js';

/** The most gained changes in a log line, and the most lost ones. */
const CHANGES_LOGGED = 3;
const MAX_CHANGES = 20;

/** Reports a published version in the audit trail and the log: all that follows from the version itself. */
@Injectable()
export class PublicationReports {
  constructor(
    private readonly audit: AuditService,
    private readonly restores: RestoreReports,
    private readonly log: Log,
  ) {}

  /** To be called in the transaction that takes the version. */
  async record({ publication, isWritten, formerRestore }: UnreportedPublication, by: AuditContext): Promise<void> {
    const unexplained = unexplainedIn(publication);
    if (isWritten && unexplained !== undefined) {
      await this.recordEvent('unexplained_change', publication, by, { message: unexplained.message });
    }
    if (publication.isFound) await this.recordEvent('database_behind', publication, by, { hash: publication.hash });
    await this.restores.record(restoreChanges(formerRestore, publication), by);
    if (!isWritten) return;
    const { hash, rules, bytes, access, isWithdrawal } = publication;
    const change = access && accessForm(access, MAX_CHANGES);
    const details = { hash, rules, bytes, is_withdrawal: isWithdrawal, access: change };
    await this.recordEvent('publication_applied', publication, by, details);
  }

  write({ publication, isWritten, formerRestore }: UnreportedPublication): void {
    const { version, hash, rules, bytes, diff, access, isWithdrawal, trigger } = publication;
    const unexplained = unexplainedIn(publication);
    if (isWritten && unexplained !== undefined) {
      this.log.warn('TRINO_ACL_UNEXPLAINED_CHANGE', { trigger, ...loggedFinding(unexplained) });
    }
    if (publication.isFound) this.log.error('TRINO_ACL_DATABASE_BEHIND', { trigger, version, hash });
    this.restores.write(restoreChanges(formerRestore, publication));
    if (!isWritten) return;
    const [added, removed] = [diff.added.length, diff.removed.length];
    const details = { ...(isWithdrawal && { is_withdrawal: true }), access: access && loggedAccess(access) };
    this.log.info('TRINO_ACL_SYNC_APPLIED', { trigger, version, hash, rules, bytes, added, removed, ...details });
  }

  private recordEvent(
    event: AuditEventName,
    { version, trigger }: Publication,
    by: AuditContext,
    details: Record<string, unknown>,
  ): Promise<void> {
    const subject =
      event === 'publication_applied' || event === 'database_behind'
        ? ({ type: 'publication', id: String(version), name: null } as const)
        : null;
    return this.audit.record({ event, ...by, subject, details: { trigger, ...details } });
  }
}

/** Without the witness: a rule's text holds filters and masks. */
export function loggedFinding({ code, severity, rule, message }: Finding): Finding {
  return { code, severity, message: withoutSql(message), ...(rule !== undefined && { rule }) };
}

/** The finding on an unexplained change in a published version. */
function unexplainedIn({ checks }: Publication): Finding | undefined {
  return checks.find(({ code }) => code === UNEXPLAINED || code === APPROVED);
}

function loggedAccess(access: AccessChange): AccessForm {
  const logged = (changes: readonly ChangedAccess[]): ChangedAccess[] =>
    changes.map((change) => ({ ...change, what: withoutSql(change.what) }));
  const { gained, lost, ...counts } = accessForm(access, CHANGES_LOGGED);
  return { ...counts, gained: logged(gained), lost: logged(lost) };
}
