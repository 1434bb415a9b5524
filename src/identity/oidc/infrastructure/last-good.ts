import type { Timers } from '../../../kernel/clock.js';

/** In milliseconds. */
export interface Lifetime {
  /** Until it is fetched again. */
  fresh: number;
  /** For which the last one serves while it cannot be fetched. */
  stale: number;
  /** Between two fetches, at least, failures included. */
  pause: number;
}

/** Something of the provider's: fetched when it is needed, kept, and the last good one while there is no other. */
export class LastGood<T> {
  private held: { value: T; at: number } | null = null;
  private last: { outcome: Promise<T>; at: number } | null = null;

  constructor(
    private readonly fetch: () => Promise<T>,
    private readonly lifetime: Lifetime,
    private readonly timers: Timers,
  ) {}

  /** @throws what the fetch threw, where nothing serves instead */
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

  /** Fetched now, or, if that was tried a moment ago, what came of it. @throws what the fetch threw */
  renewed(): Promise<T> {
    const { last } = this;
    return last !== null && this.since(last.at) < this.lifetime.pause ? last.outcome : this.fetchedNow();
  }

  /** Fetched after this call, as soon as it may be. @throws what the fetch threw */
  async newer(): Promise<T> {
    const { last } = this;
    const rest = last === null ? 0 : this.lifetime.pause - this.since(last.at);
    if (rest > 0) await this.timers.wait(rest);
    // Not renewed(): a timer may be up a part of a millisecond early, and the old outcome would be taken again.
    return this.last === null || this.last === last ? this.fetchedNow() : this.last.outcome;
  }

  private fetchedNow(): Promise<T> {
    const outcome = this.kept();
    this.last = { outcome, at: this.timers.now() };
    return outcome;
  }

  private async kept(): Promise<T> {
    const value = await this.fetch();
    this.held = { value, at: this.timers.now() };
    return value;
  }

  private since(moment: number): number {
    return this.timers.now() - moment;
  }
}
