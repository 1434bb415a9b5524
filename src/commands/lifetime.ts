import { constants } from 'node:os';
import type { LogOutput } from '../platform/log/log-output.js';
import type { Log } from '../platform/log/log.js';

/** Milliseconds since the stop began. `breakOff`: aborts running work. `abandon`: waits only for the database. `exit`: ends the process. Kubernetes kills after 30 s. */
const STOP_MS = { breakOff: 15_000, abandon: 17_000, exit: 20_000 };
const LOG_FLUSH_MS = 1_000;
const END_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Closes a resource: gracefully until `deadline` is aborted, then at once. */
type CloseAction = (deadline: AbortSignal) => Promise<void>;

/**
 * Closes everything that a process opened, in reverse order, when the work ends or fails, or at the first signal. Further signals are
 * ignored, because a terminal signals npm and the service at once, and npm passes its signal on.
 */
export class Lifetime {
  private readonly closers: Promise<CloseAction>[] = [];
  private isEnding = false;
  private completion: Promise<boolean> | null = null;

  /**
   * @param exitCodeFor the exit code after a signal
   * @param logOutput the log's output, which gets a second to write its last lines before a signal ends the process
   */
  constructor(
    private readonly log: Pick<Log, 'info' | 'error'>,
    private readonly exitCodeFor = (signal: NodeJS.Signals): number => 128 + constants.signals[signal],
    private readonly logOutput?: LogOutput,
  ) {
    for (const signal of END_SIGNALS) process.on(signal, () => void this.endBySignal(signal));
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } finally {
      await this.waitIfEnding();
      await this.closeAll();
    }
  }

  /** Waits for `resourcePromise`, and closes the resource at the end. Never returns if a signal has come meanwhile. */
  async open<T>(resourcePromise: Promise<T>, close: (resource: T, deadline: AbortSignal) => Promise<void>): Promise<T> {
    this.closers.push(
      resourcePromise.then(
        (resource) => (deadline) => close(resource, deadline),
        () => () => Promise.resolve(), // the caller gets the error
      ),
    );
    const resource = await resourcePromise;
    await this.waitIfEnding();
    return resource;
  }

  /** Never resolves. For a process that only a signal ends. */
  async waitForSignal(): Promise<never> {
    return new Promise<never>(() => undefined);
  }

  private async waitIfEnding(): Promise<void> {
    if (this.isEnding) await this.waitForSignal();
  }

  private async endBySignal(signal: NodeJS.Signals): Promise<void> {
    if (this.isEnding) return;
    this.isEnding = true;
    this.log.info('stopping', { signal });
    setTimeout(() => process.exit(1), STOP_MS.exit);
    const isGraceful = await this.closeAll();
    await this.logOutput?.waitUntilRead(LOG_FLUSH_MS);
    process.exit(isGraceful ? this.exitCodeFor(signal) : 1);
  }

  /** Closes everything that was opened, once. @returns whether everything closed gracefully */
  private closeAll(): Promise<boolean> {
    this.completion ??= this.closeInTurn(AbortSignal.timeout(STOP_MS.breakOff), AbortSignal.timeout(STOP_MS.abandon));
    return this.completion;
  }

  private async closeInTurn(deadline: AbortSignal, abandonSignal: AbortSignal): Promise<boolean> {
    let hasClosedAll = true;
    for (let closer = this.closers.pop(); closer !== undefined; closer = this.closers.pop()) {
      const closePromise = closer.then((close) => close(deadline));
      const isLastCloser = this.closers.length === 0; // the database, which may use the time after `abandon`
      try {
        await (isLastCloser ? closePromise : Promise.race([closePromise, rejectionOn(abandonSignal)]));
      } catch (err) {
        hasClosedAll = false;
        this.log.error('the stop was not clean', { err });
      }
    }
    return hasClosedAll && !deadline.aborted;
  }
}

function rejectionOn(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const rejectTimeout = (): void => reject(new Error('closing took too long'));
    if (signal.aborted) rejectTimeout();
    signal.addEventListener('abort', rejectTimeout, { once: true });
  });
}
