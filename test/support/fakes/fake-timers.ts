import { Timers } from '../../../src/kernel/clock.js';

/** Monotonic time that only `advance` moves; waits end in order. */
export class FakeTimers extends Timers {
  /** Every wait that was asked for, in milliseconds. */
  readonly waits: number[] = [];
  private readonly sleepers: { until: number; wake: () => void }[] = [];
  private arrivals: (() => void)[] = [];

  constructor(private instant = 1_000_000) {
    super();
  }

  override now(): number {
    return this.instant;
  }

  override wait(milliseconds: number, signal?: AbortSignal): Promise<void> {
    this.waits.push(milliseconds);
    return new Promise((wake, reject) => {
      signal?.throwIfAborted();
      const sleeper = {
        until: this.instant + milliseconds,
        wake: () => {
          signal?.removeEventListener('abort', leave);
          wake();
        },
      };
      const leave = (): void => {
        this.sleepers.splice(this.sleepers.indexOf(sleeper), 1);
        reject(signal?.reason instanceof Error ? signal.reason : new Error('aborted'));
      };
      this.sleepers.push(sleeper);
      signal?.addEventListener('abort', leave, { once: true });
      for (const arrival of this.arrivals.splice(0)) arrival();
    });
  }

  /** Moves time on, and ends the waits whose time has come. */
  advance(milliseconds: number): void {
    this.instant += milliseconds;
    for (const sleeper of this.sleepers.filter(({ until }) => until <= this.instant)) {
      this.sleepers.splice(this.sleepers.indexOf(sleeper), 1);
      sleeper.wake();
    }
  }

  /** Resolves as soon as a wait has begun. */
  async untilWaiting(): Promise<void> {
    if (this.sleepers.length === 0) await new Promise<void>((arrival) => this.arrivals.push(arrival));
  }
}

/** Time that jumps over every wait: for retries, whose pauses are asserted and not lived through. */
export class SkippingTimers extends FakeTimers {
  override wait(milliseconds: number): Promise<void> {
    this.waits.push(milliseconds);
    this.advance(milliseconds);
    return Promise.resolve();
  }
}
