import { Injectable } from '@nestjs/common';
import { NamedError, Refused } from '../kernel/errors.js';
import { FairQueue } from '../kernel/fair-queue.js';
import { Settings } from '../platform/settings/settings.js';
import { Transaction, TransactionDeadlock } from '../platform/database/transaction.js';
import { AccessChangesService } from '../users/access-changes.service.js';

/** Everything was written, and the commit failed: where its answer was lost, the changes may be made. */
export class CommitUnconfirmed extends NamedError {}

/** Attempts of a write: PostgreSQL rolls one of two back that wait for each other, such as batches of the same grants. */
const MOST_TRIES = 5;
/** Milliseconds that a write waits for its turn at most. */
const LONGEST_WAIT = 10_000;

/**
 * Writes of groups, grants and policies. Half of the connections are theirs at most: a snapshot file that is applied locks all of
 * them out, and where each waited on a connection of its own, nobody could sign in.
 */
@Injectable()
export class AccessWritesService {
  private readonly turns: FairQueue;

  constructor(
    settings: Settings,
    private readonly transaction: Transaction,
    private readonly changes: AccessChangesService,
  ) {
    this.turns = new FairQueue(Math.floor(settings.database.poolMax / 2), Infinity);
  }

  /**
   * Runs `work` in one transaction, then tells the publisher. After a deadlock it runs anew.
   * @throws Refused `busy` when it does not get its turn
   */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const done = await this.inTurn(() => retried(() => this.transaction.run(work)));
    this.changes.announce();
    return done;
  }

  /**
   * The transaction of a file that is applied: it is written whole, or its outcome is told and nothing is written. It waits for no turn.
   * @param work gets a function that ends the transaction without its writes, and with an outcome
   * @throws CommitUnconfirmed with its cause
   */
  async runFile<T>(work: (rollBack: (outcome: T) => never) => Promise<T>): Promise<T> {
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

  private async inTurn<T>(work: () => Promise<T>): Promise<T> {
    const place = this.turns.enter('');
    if (place === null) throw new Error('no place in a queue without a limit');
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), LONGEST_WAIT);
    const turn = await this.turns.turn(place, late.signal);
    clearTimeout(timer);
    try {
      if (turn !== 'granted') throw new Refused('busy', { retryAfter: 5 });
      return await work();
    } finally {
      if (turn === 'granted') this.turns.done(place);
      this.turns.leave(place);
    }
  }
}

/** Carries the outcome of a transaction that ends without its writes. */
class RolledBack extends NamedError {
  constructor(readonly outcome: unknown) {
    super('rolled back');
  }
}

/** Runs a transaction anew after a deadlock. */
async function retried<T>(transaction: () => Promise<T>, tries = MOST_TRIES): Promise<T> {
  try {
    return await transaction();
  } catch (error) {
    if (!(error instanceof TransactionDeadlock) || tries <= 1) throw error;
    return retried(transaction, tries - 1);
  }
}
