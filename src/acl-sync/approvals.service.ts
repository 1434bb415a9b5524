import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { Clock } from '../kernel/clock.js';
import { Refused } from '../kernel/errors.js';
import { Transaction } from '../platform/transaction.js';
import { AccessChangesService } from '../users/access-changes.service.js';
import { PublicationHistory } from './domain/publication-history.js';

/** Approvals of unexplained changes by an administrator. */
@Injectable()
export class ApprovalsService {
  constructor(
    private readonly history: PublicationHistory,
    private readonly audit: AuditService,
    private readonly transaction: Transaction,
    private readonly changes: AccessChangesService,
    private readonly clock: Clock,
  ) {}

  /**
   * Allows exactly this text to follow the current version. The next run publishes it, and one starts soon.
   * @throws Refused `approval_not_awaited` when this text does not wait for an approval
   */
  async approve(hash: string, by: AuditContext): Promise<void> {
    await this.transaction.run(async () => {
      const { last } = await this.history.summary();
      if (last?.waiting?.hash !== hash) throw notAwaited(last?.waiting?.hash ?? null);
      await this.history.approve(hash, by.actor?.id ?? null, this.clock.now());
      await this.audit.record({ event: 'publication_approved', ...by, subject: null, details: { hash } });
    });
    this.changes.announce();
  }
}

function notAwaited(waiting: string | null): Refused {
  const detail =
    waiting === null ? 'No text waits for an approval.' : `Another text waits for an approval: ${waiting}.`;
  return new Refused('approval_not_awaited', { detail });
}
