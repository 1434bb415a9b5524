import type { Timers } from '../../../kernel/clock.js';

/** Durations in milliseconds. */
export interface Lifetime {
  /** How long a fetched document is used without fetching again. */
  fresh: number;
  /** How long the last good document is used while fetches fail. */
  stale: number;
  /** The least time between two fetches, failed ones included. */
  pause: number;
}

/** Fetches a document of the provider on demand and caches it. While fetches fail, the last good document is used. */
export class LastGoodDocument<T> {
  private held: { value: T; at: number } | null = null;
  private last: { outcome: Promise<T>; at: number } | null = null;

  constructor(
    private readonly fetch: () => Promise<T>,
    private readonly lifetime: Lifetime,
    private readonly timers: Timers,
  ) {}

  /** @throws the error of the fetch, if there is no usable document */
  async get(): Promise<T> {
    const { held } = this;
    if (held !== null && this.elapsedSince(held.at) < this.lifetime.fresh) return held.value;
    try {
      return await this.renew();
    } catch (error) {
      if (held !== null && this.elapsedSince(held.at) < this.lifetime.stale) return held.value;
      throw error;
    }
  }

  /** Fetches now, or returns the outcome of a fetch within the pause. @throws the error of the fetch */
  renew(): Promise<T> {
    const { last } = this;
    return last !== null && this.elapsedSince(last.at) < this.lifetime.pause ? last.outcome : this.fetchNow();
  }

  /** Returns a document that is fetched after this call, once the pause is over. @throws the error of the fetch */
  async fetchNewer(): Promise<T> {
    const { last } = this;
    const rest = last === null ? 0 : this.lifetime.pause - this.elapsedSince(last.at);
    if (rest > 0) await this.timers.wait(rest);
    // Does not call renew(): the timer may end a fraction of a millisecond early, and renew() would return the old outcome.
    return this.last === null || this.last === last ? this.fetchNow() : this.last.outcome;
  }

  private fetchNow(): Promise<T> {
    const outcome = this.fetch().then((value) => {
      this.held = { value, at: this.timers.now() };
      return value;
    });
    this.last = { outcome, at: this.timers.now() };
    return outcome;
  }

  private elapsedSince(moment: number): number {
    return this.timers.now() - moment;
  }
}
