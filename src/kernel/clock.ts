import { NamedError } from './errors.js';

/** Wall-clock time, injected so that tests can control it. */
export abstract class Clock {
  abstract now(): Date;
}

export class SystemClock extends Clock {
  override now(): Date {
    return new Date();
  }
}

/** The reason of all aborts here. It is shared, because `abort()` without a reason creates an error with a stack each time. */
const ABORT_REASON = new NamedError('the work is done');

/** Monotonic time and waiting, injected so that tests neither sleep nor race. */
export abstract class Timers {
  /** Monotonic milliseconds since a fixed moment. */
  abstract now(): number;
  /**
   * Resolves after this time. Does not keep the process alive.
   * @throws the signal's reason when it is aborted first.
   */
  abstract wait(milliseconds: number, signal?: AbortSignal): Promise<void>;

  /** Resolves when the work is done, or when this time has passed. @throws the error of the work, if it fails within this time */
  async waitAtMost(milliseconds: number, work: Promise<unknown>): Promise<void> {
    const pauseAbort = new AbortController();
    try {
      await Promise.race([work, this.wait(milliseconds, pauseAbort.signal).catch(() => undefined)]);
    } finally {
      pauseAbort.abort(ABORT_REASON);
    }
  }

  /** Repeats `work` until the signal is aborted, with this pause after each run. */
  async repeat(milliseconds: number, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    const waitUnlessAborted = (): Promise<boolean> =>
      this.wait(milliseconds, signal).then(
        () => true,
        () => false,
      );
    while (await waitUnlessAborted()) await work();
  }
}

export class NodeTimers extends Timers {
  override now(): number {
    return performance.now();
  }

  override wait(milliseconds: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        clearTimeout(timer);
        reject(signal?.reason as Error);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      }, milliseconds).unref();
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }
}
