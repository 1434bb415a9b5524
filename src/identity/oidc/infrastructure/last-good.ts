import type { Timers } from '../../../kernel/clock.js';

export interface Lifetime {
  /** The time for which a document is used without fetching it again. */
  freshMs: number;
  /** The greatest age of the last good document at which it is still used while fetches fail. */
  staleMs: number;
  /** The least time between two fetches, including failed ones. */
  pauseMs: number;
}

/** Fetches a document of the provider on demand and caches it. While fetches fail, the last good document is used. */
export class LastGoodDocument<T> {
  private cache: { value: T; timestamp: number } | null = null;
  private lastFetch: { outcome: Promise<T>; timestamp: number } | null = null;

  constructor(
    private readonly fetch: () => Promise<T>,
    private readonly lifetime: Lifetime,
    private readonly timers: Timers,
  ) {}

  async get(): Promise<T> {
    const { cache } = this;
    if (cache !== null && this.elapsedSince(cache.timestamp) < this.lifetime.freshMs) return cache.value;
    try {
      return await this.renew();
    } catch (error) {
      if (cache !== null && this.elapsedSince(cache.timestamp) < this.lifetime.staleMs) return cache.value;
      throw error;
    }
  }

  /** Fetches the document. Within the pause after a fetch, returns the outcome of that fetch. @throws the error of the fetch */
  renew(): Promise<T> {
    const { lastFetch } = this;
    return lastFetch !== null && this.elapsedSince(lastFetch.timestamp) < this.lifetime.pauseMs
      ? lastFetch.outcome
      : this.fetchNow();
  }

  /** Waits until the pause is over, and returns a document fetched after this call. @throws the error of the fetch */
  async fetchNewer(): Promise<T> {
    const { lastFetch } = this;
    const remainingMs = lastFetch === null ? 0 : this.lifetime.pauseMs - this.elapsedSince(lastFetch.timestamp);
    if (remainingMs > 0) await this.timers.wait(remainingMs);
    // Not `renew`: the timer may end a fraction of a millisecond early, and `renew` would then return the outcome of the former fetch.
    return this.lastFetch === null || this.lastFetch === lastFetch ? this.fetchNow() : this.lastFetch.outcome;
  }

  private fetchNow(): Promise<T> {
    const outcome = this.fetch().then((value) => {
      this.cache = { value, timestamp: this.timers.now() };
      return value;
    });
    this.lastFetch = { outcome, timestamp: this.timers.now() };
    return outcome;
  }

  private elapsedSince(moment: number): number {
    return this.timers.now() - moment;
  }
}
