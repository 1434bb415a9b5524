import { Injectable } from '@nestjs/common';
import { NamedError } from '../kernel/errors.js';
import { Transaction, TransactionDeadlock } from '../platform/database/transaction.js';
import { AccessChangesService } from '../users/access-changes.service.js';

/** Everything was written, and the commit failed: where its answer was lost, the changes may be made. */
export class CommitUnconfirmed extends NamedError {}

/** Attempts: PostgreSQL rolls one of two transactions back that wait for each other. */
const MOST_TRIES = 3;

/** The transaction of a file that is applied: it is written whole, or its outcome is told and nothing is written. */
@Injectable()
export class FileTransaction {
  constructor(
    private readonly transaction: Transaction,
    private readonly changes: AccessChangesService,
  ) {}

  /**
   * Runs `work`, then tells the publisher.
   * @param work gets a function that ends the transaction without its writes, and with an outcome
   * @throws CommitUnconfirmed with its cause
   */
  async run<T>(work: (rollBack: (outcome: T) => never) => Promise<T>, tries = MOST_TRIES): Promise<T> {
    const state: { isWritten: boolean; rolledBack: { outcome: T } | null } = { isWritten: false, rolledBack: null };
    try {
      const outcome = await this.transaction.run(async () => {
        const written = await work((outcome) => {
          state.rolledBack = { outcome };
          throw new RolledBack('rolled back');
        });
        state.isWritten = true;
        return written;
      });
      this.changes.announce();
      return outcome;
    } catch (error) {
      if (state.rolledBack !== null) return state.rolledBack.outcome;
      if (error instanceof TransactionDeadlock && tries > 1) return this.run(work, tries - 1);
      throw state.isWritten ? new CommitUnconfirmed('the commit failed', { cause: error }) : error;
    }
  }
}

class RolledBack extends NamedError {}
