import { setImmediate } from 'node:timers';
import { FairQueue } from '../kernel/fair-queue.js';

/**
 * Pieces of rows are made one at a time, by people in turns, and whatever else waits is dealt with before the next one: however
 * many pages somebody asks for at once.
 */
export class RowTurns {
  private readonly queue = new FairQueue(1, Infinity);

  /** Resolves when the next piece of that person may be made: at once, without waiting for anything. */
  async next(person: string): Promise<void> {
    const place = this.queue.enter(person);
    if (place === null) return; // never: there is no end of places
    await this.queue.turn(place);
    setImmediate(() => {
      this.queue.done(place);
      this.queue.leave(place);
    });
  }
}
