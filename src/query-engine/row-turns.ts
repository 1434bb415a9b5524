import { setImmediate, setTimeout } from 'node:timers';
import { FairQueue } from '../kernel/fair-queue.js';

/** Milliseconds: a piece that takes longer, as one of a single row of megabytes does, is followed by a pause as long, up to the second figure. */
const LONG = { piece: 40, pause: 100 } as const;

/**
 * Pieces of rows are made one at a time, by people in turns, and whatever else waits is dealt with before the next one: however
 * many pages somebody asks for at once. A request of somebody else asks the database several times, one after the other: after
 * a long piece it has time for all of them.
 */
export class RowTurns {
  private readonly queue = new FairQueue(1, Infinity);

  /** Resolves when the next piece of that person may be made: at once, without waiting for anything. */
  async next(person: string): Promise<void> {
    const place = this.queue.enter(person);
    if (place === null) return; // never: there is no end of places
    await this.queue.turn(place);
    const began = performance.now();
    const end = (): void => {
      this.queue.done(place);
      this.queue.leave(place);
    };
    setImmediate(() => {
      const took = performance.now() - began;
      if (took > LONG.piece) setTimeout(end, Math.min(took, LONG.pause));
      else end();
    });
  }
}
