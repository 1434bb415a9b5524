import type { Timers } from '../../../kernel/clock.js';

/** In milliseconds. */
export interface Lifetime {
  /** Until it is fetched again. */
  fresh: number;
  /** For which the last good one serves while it cannot be fetched. */
  stale: number;
  /** Between two fetches, at least, failures included. */
  pause: number;
}

/** A document of the provider: fetched when it is needed and kept; the last good one serves while it cannot be fetched. */
export class LastGood<T> {
  private held: { value: T; at: number } | null = null;
  private last: { outcome: Promise<T>; at: number } | null = null;

  constructor(
    private readonly fetch: () => Promise<T>,
    private readonly lifetime: Lifetime,
    private readonly timers: Timers,
  ) {}

  /** @throws the error of the fetch, if there is no good one */
  async get(): Promise<T> {
    const { held } = this;
    if (held !== null && this.since(held.at) < this.lifetime.fresh) return held.value;
    try {
      return await this.renewed();
    } catch (error) {
      if (held !== null && this.since(held.at) < this.lifetime.stale) return held.value;
      throw error;
    }
  }

  /** Fetches now, or returns the outcome of a fetch within the pause. @throws the error of the fetch */
  renewed(): Promise<T> {
    const { last } = this;
    return last !== null && this.since(last.at) < this.lifetime.pause ? last.outcome : this.fetchedNow();
  }

  /** Fetches after this call, as soon as the pause allows. @throws the error of the fetch */
  async newer(): Promise<T> {
    const { last } = this;
    const rest = last === null ? 0 : this.lifetime.pause - this.since(last.at);
    if (rest > 0) await this.timers.wait(rest);
    // Not renewed(): a timer may end a fraction of a millisecond early, and the old outcome would be returned again.
    return this.last === null || this.last === last ? this.fetchedNow() : this.last.outcome;
  }

  private fetchedNow(): Promise<T> {
    const outcome = this.fetch().then((value) => {
      this.held = { value, at: this.timers.now() };
      return value;
    });
    this.last = { outcome, at: this.timers.now() };
    return outcome;
  }

  private since(moment: number): number {
    return this.timers.now() - moment;
  }
}
