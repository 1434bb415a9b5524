import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { Transaction } from '../platform/database/transaction.js';
import { brokenText, type GuaranteeVerdict } from '../trino-rules/answers/guarantee-verdicts.js';
import { GUARANTEES_MOST, type RecordedGuarantee } from './domain/guarantee.js';
import { GuaranteeStore } from './guarantee.store.js';

const BY_SERVICE: AuditContext = { actor: null, origin: null };

/** Which guarantees hold. */
@Injectable()
export class GuaranteeStates {
  constructor(
    private readonly store: GuaranteeStore,
    private readonly audit: AuditService,
    private readonly transaction: Transaction,
  ) {}

  /** Records verdicts by a snapshot of that moment, and audits those that turned. */
  async record(verdicts: readonly GuaranteeVerdict[], at: Date, by = BY_SERVICE): Promise<void> {
    if (verdicts.length === 0) return;
    await this.transaction.run(async () => {
      const turned = new Set(await this.store.record(verdicts, at));
      const events = verdicts
        .filter(({ id }) => turned.has(id))
        .map((verdict) => {
          const { id, name, isBroken } = verdict;
          const subject = { type: 'guarantee' as const, id: String(id), name };
          const details = isBroken ? { message: brokenText(verdict), broken_by: verdict.brokenBy } : {};
          return { event: `guarantee_${isBroken ? 'broken' : 'holds_again'}` as const, ...by, subject, details };
        });
      await this.audit.recordAll(events);
    });
  }

  async all(): Promise<RecordedGuarantee[]> {
    return (await this.store.list({ limit: GUARANTEES_MOST + 1, after: null })).items;
  }
}
