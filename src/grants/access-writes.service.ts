import { Injectable } from '@nestjs/common';
import { Refused } from '../kernel/errors.js';
import { FairQueue } from '../kernel/fair-queue.js';
import { Settings } from '../platform/settings/settings.js';
import { Transaction, TransactionDeadlock } from '../platform/database/transaction.js';
import { AccessChangesService } from '../users/access-changes.service.js';

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
    const done = await this.inTurn(() => this.tried(work, MOST_TRIES));
    this.changes.announce();
    return done;
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

  private async tried<T>(work: () => Promise<T>, tries: number): Promise<T> {
    try {
      return await this.transaction.run(work);
    } catch (error) {
      if (!(error instanceof TransactionDeadlock) || tries <= 1) throw error;
      return this.tried(work, tries - 1);
    }
  }
}
