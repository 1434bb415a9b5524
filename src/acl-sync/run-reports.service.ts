import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { Log } from '../platform/log/log.js';
import { Transaction } from '../platform/database/transaction.js';
import { AclSyncMetrics } from './acl-sync.metrics.js';
import { PublicationHistory } from './domain/publication-history.js';
import { restoreChanges, type RestoreChanges } from './domain/restore.js';
import { type Report, restoreReport, runReport } from './domain/run-report.js';
import { type EndedRun, newEdits, runRow } from './domain/run-row.js';

/**
 * Records a run in the history, the audit trail, the log and the metrics; and with it the version that a run published that
 * died before it could report.
 */
@Injectable()
export class RunReportsService {
  constructor(
    private readonly history: PublicationHistory,
    private readonly audit: AuditService,
    private readonly transaction: Transaction,
    private readonly metrics: AclSyncMetrics,
    private readonly log: Log,
  ) {}

  async record(ended: EndedRun): Promise<void> {
    const { last } = await this.history.summary();
    const { report, edits } = await this.transaction.run(async () => {
      const unreported = await this.history.takeUnreported();
      await this.history.record(runRow(ended, last));
      for (const { formerRestore, publication } of unreported)
        await this.endRestore(restoreChanges(formerRestore, publication).ended);
      const report = runReport(ended, unreported, last);
      await this.audit.recordAll(report.events);
      return { report, edits: newEdits(ended, unreported, last) };
    });
    this.metrics.ran(ended.outcome.kind, ended.trigger);
    edits.forEach(() => this.metrics.foundDrift());
    await this.metrics.showHistory(this.history, this.audit);
    this.write(report);
  }

  /** Ends a restore without a run. */
  async recordEnd(ended: NonNullable<RestoreChanges['ended']>, by: AuditContext): Promise<void> {
    const report = restoreReport({ begun: null, ended }, by);
    await this.transaction.run(async () => {
      await this.endRestore(ended);
      await this.audit.recordAll(report.events);
    });
    this.write(report);
  }

  private async endRestore(ended: RestoreChanges['ended']): Promise<void> {
    if (ended !== null) await this.history.endRestore(ended.publication, ended.how);
  }

  private write({ lines }: Report): void {
    for (const { level, marker, fields } of lines) this.log[level](marker, fields);
  }
}
