import { Injectable } from '@nestjs/common';
import { NamedError, Refused } from '../kernel/errors.js';
import { FairQueue } from '../kernel/fair-queue.js';
import { Settings } from '../platform/settings/settings.js';
import { Transaction, TransactionDeadlock } from '../platform/database/transaction.js';
import { AccessChangesService } from '../users/access-changes.service.js';

/** The commit failed after all writes. The changes may be committed all the same, if only the database's answer was lost. */
export class CommitUnconfirmed extends NamedError {}

/** Attempts of a write. On a deadlock, as between two batches of the same grants, PostgreSQL rolls one transaction back. */
const MOST_TRIES = 5;
/** The longest time in milliseconds that a write waits for its turn. */
const LONGEST_WAIT = 10_000;

/**
 * Writes groups, grants and policies. The writes use at most half of the database connections: while a snapshot file is applied they
 * all wait for its locks, and if they held every connection nobody could sign in.
 */
@Injectable()
export class AccessWritesService {
  private readonly queue: FairQueue;

  constructor(
    settings: Settings,
    private readonly transaction: Transaction,
    private readonly changes: AccessChangesService,
  ) {
    this.queue = new FairQueue(Math.floor(settings.database.poolMax / 2), Infinity);
  }

  /**
   * Runs `work` in one transaction, again after a deadlock, then notifies the publisher.
   * @throws Refused `busy` when the write does not get its turn in time
   */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const done = await this.runInTurn(() => retried(() => this.transaction.run(work)));
    this.changes.announce();
    return done;
  }

  /**
   * Runs the transaction that applies a file, without waiting for a turn.
   * @param work gets a function that rolls the transaction back and returns an outcome
   * @throws CommitUnconfirmed with its cause
   */
  async runUnqueued<T>(work: (rollBack: (outcome: T) => never) => Promise<T>): Promise<T> {
    const state = { isWritten: false };
    const whole = async (): Promise<T> => {
      state.isWritten = false;
      const written = await work((outcome) => {
        throw new RolledBack(outcome);
      });
      state.isWritten = true;
      return written;
    };
    try {
      const outcome = await retried(() => this.transaction.run(whole));
      this.changes.announce();
      return outcome;
    } catch (error) {
      if (error instanceof RolledBack) return error.outcome as T;
      throw state.isWritten ? new CommitUnconfirmed('the commit failed', { cause: error }) : error;
    }
  }

  private async runInTurn<T>(work: () => Promise<T>): Promise<T> {
    const place = this.queue.enter('');
    if (place === null) throw new Error('no place in a queue without a limit');
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), LONGEST_WAIT);
    const acquisition = await this.queue.acquire(place, late.signal);
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

/** Carries the outcome of a transaction that is rolled back. */
class RolledBack extends NamedError {
  constructor(readonly outcome: unknown) {
    super('rolled back');
  }
}

/** Runs a transaction again after a deadlock. */
async function retried<T>(transaction: () => Promise<T>, tries = MOST_TRIES): Promise<T> {
  try {
    return await transaction();
  } catch (error) {
    if (!(error instanceof TransactionDeadlock) || tries <= 1) throw error;
    return retried(transaction, tries - 1);
  }
}
