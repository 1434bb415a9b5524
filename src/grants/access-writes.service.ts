import { Injectable } from '@nestjs/common';
import { NamedError, Refused } from '../kernel/errors.js';
import { FairQueue } from '../kernel/fair-queue.js';
import { Settings } from '../platform/settings/settings.js';
import { Transaction, TransactionDeadlock } from '../platform/database/transaction.js';
import { AccessChangesService } from '../users/access-changes.service.js';

/** Error of a commit that failed after all writes. The changes may be committed nevertheless: perhaps only the database's answer was lost. */
export class CommitUnconfirmed extends Refused {
  constructor(cause: unknown) {
    const detail =
      'Whether the changes are made is not known: send the file again, which makes only those that are missing.';
    super('database_unavailable', { retryAfter: 5, detail, cause });
  }
}

/** The most attempts of one write. A write is repeated if PostgreSQL rolled it back because of a deadlock, such as between two batches of grants. */
const MAX_ATTEMPTS = 5;
const MAX_QUEUE_WAIT_MS = 10_000;

/**
 * Writes groups, grants and policies, by at most half of the database connections. While a snapshot file is applied, all writes wait
 * and keep their connections. If the writes held every connection, nobody could sign in.
 */
@Injectable()
export class AccessWritesService {
  private readonly queue: FairQueue;

  constructor(
    settings: Settings,
    private readonly transaction: Transaction,
    private readonly accessChanges: AccessChangesService,
  ) {
    this.queue = new FairQueue(Math.floor(settings.database.poolMax / 2), Infinity);
  }

  /**
   * Runs `work` in one transaction, which is repeated after a deadlock, and then notifies the publisher.
   * @throws Refused `busy` when the write does not get its turn in time
   */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const result = await this.runQueued(() => retryOnDeadlock(() => this.transaction.run(work)));
    this.accessChanges.announce();
    return result;
  }

  /**
   * Runs the transaction that applies a file, without waiting in the queue of writes.
   * @param work may undo its writes by calling `rollBack(outcome)`
   * @throws CommitUnconfirmed if all writes succeeded and the commit failed
   */
  async runUnqueued<T>(work: (rollBack: (outcome: T) => never) => Promise<T>): Promise<T> {
    const state = { isWritten: false };
    const trackedWork = async (): Promise<T> => {
      state.isWritten = false;
      const outcome = await work((outcome) => {
        throw new RolledBack(outcome);
      });
      state.isWritten = true;
      return outcome;
    };
    try {
      const outcome = await retryOnDeadlock(() => this.transaction.run(trackedWork));
      this.accessChanges.announce();
      return outcome;
    } catch (error) {
      if (error instanceof RolledBack) return error.outcome as T;
      throw state.isWritten ? new CommitUnconfirmed(error) : error;
    }
  }

  private async runQueued<T>(work: () => Promise<T>): Promise<T> {
    const place = this.queue.enter('');
    if (place === null) throw new Error('no place in a queue without a limit');
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(), MAX_QUEUE_WAIT_MS);
    const acquisition = await this.queue.acquire(place, timeout.signal);
    clearTimeout(timer);
    try {
      if (acquisition !== 'granted') throw new Refused('busy', { retryAfter: 5 });
      return await work();
    } finally {
      if (acquisition === 'granted') this.queue.release(place);
      this.queue.leave(place);
    }
  }
}

class RolledBack extends NamedError {
  constructor(readonly outcome: unknown) {
    super('rolled back');
  }
}

async function retryOnDeadlock<T>(transaction: () => Promise<T>, remainingAttempts = MAX_ATTEMPTS): Promise<T> {
  try {
    return await transaction();
  } catch (error) {
    if (!(error instanceof TransactionDeadlock) || remainingAttempts <= 1) throw error;
    return retryOnDeadlock(transaction, remainingAttempts - 1);
  }
}
