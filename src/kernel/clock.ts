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

/** One error for all: `abort()` without a reason creates one with its stack each time. */
const DONE = new NamedError('the work is done');

/** Monotonic time and waiting, injected so that tests neither sleep nor race. */
export abstract class Timers {
  /** Monotonic milliseconds since a fixed moment. */
  abstract now(): number;
  /**
   * Resolves after that many milliseconds. Does not keep the process alive.
   * @throws the signal's reason when it is aborted first.
   */
  abstract wait(milliseconds: number, signal?: AbortSignal): Promise<void>;

  /** Resolves with the work, and after that many milliseconds at the latest. @throws what the work throws by then. */
  async atMost(milliseconds: number, work: Promise<unknown>): Promise<void> {
    const done = new AbortController();
    try {
      await Promise.race([work, this.wait(milliseconds, done.signal).catch(() => undefined)]);
    } finally {
      done.abort(DONE);
    }
  }

  /** Repeats `work`, each time that many milliseconds after it has ended, until the signal is aborted. */
  async every(milliseconds: number, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    const waited = (): Promise<boolean> =>
      this.wait(milliseconds, signal).then(
        () => true,
        () => false,
      );
    while (await waited()) await work();
  }
}

export class NodeTimers extends Timers {
  override now(): number {
    return performance.now();
  }

  override wait(milliseconds: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        reject(signal?.reason as Error);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', end);
        resolve();
      }, milliseconds).unref();
      signal?.addEventListener('abort', end, { once: true });
    });
  }
}
