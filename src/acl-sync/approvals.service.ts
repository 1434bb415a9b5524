import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import type { AuditContext } from '../grants/domain/audit-context.js';
import { Clock } from '../kernel/clock.js';
import { Refused } from '../kernel/errors.js';
import { Transaction } from '../platform/transaction.js';
import { AccessChangesService } from '../users/access-changes.service.js';
import { PublicationHistory } from './domain/publication-history.js';

/** An administrator's word that a change which no record explains is meant. */
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
   * Lets exactly this text be published after the version that there is. The next run does it, and one begins soon.
   * @throws Refused `approval_not_awaited` when another text waits, or none
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
