import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import type { AuditEventName } from '../audit/domain/audit-event.js';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { Log } from '../platform/log.js';
import { PublicationHistory } from './domain/publication-history.js';
import type { RestoreChanges } from './domain/restore.js';

/** Reports restores that begin and end: history, audit trail, log. */
@Injectable()
export class RestoreReports {
  constructor(
    private readonly history: PublicationHistory,
    private readonly audit: AuditService,
    private readonly log: Log,
  ) {}

  /** To be called in the transaction that records the run. */
  async record({ begun, ended }: RestoreChanges, by: AuditContext): Promise<void> {
    const note = (event: AuditEventName, version: number, details: Record<string, unknown>): Promise<void> =>
      this.audit.record({ event, ...by, subject: { type: 'publication', id: String(version), name: null }, details });
    if (ended !== null) {
      await this.history.endRestore(ended.publication, ended.how);
      await note('restore_ended', ended.version, { publication: ended.publication, how: ended.how });
    }
    if (begun !== null) {
      const { version, publication, until, reason } = begun;
      await note('publication_restored', version, { publication, until: until.toISOString(), reason });
    }
  }

  write({ begun, ended }: RestoreChanges): void {
    if (ended !== null) this.log.info('TRINO_ACL_RESTORE_ENDED', { ...ended });
    if (begun !== null) this.log.warn('TRINO_ACL_RESTORED', { ...begun });
  }
}
