import { constants } from 'node:os';
import type { LogOutput } from '../platform/log/log-output.js';
import type { Log } from '../platform/log/log.js';

/** Milliseconds after the signal. `cut`: aborts running work. `abandon`: stops waiting for it. Kubernetes kills after 30 s. */
const STOP = { cut: 15_000, abandon: 17_000, exit: 20_000 };
const LAST_LINES_MS = 1_000;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Closes something: gracefully until `cut` is aborted, then at once. */
type Close = (cut: AbortSignal) => Promise<void>;

/**
 * Closes everything that a process opened, in reverse order, when the work ends or fails, or at the first signal. Further signals are
 * ignored, because a terminal signals npm and the service at once, and npm passes its signal on.
 */
export class Lifetime {
  private readonly opened: Promise<Close>[] = [];
  private isEnding = false;
  private closing: Promise<boolean> | null = null;

  /**
   * @param exitCode the exit code after a signal
   * @param output the log's output, which gets a second to write its last lines before a signal ends the process
   */
  constructor(
    private readonly log: Pick<Log, 'info' | 'error'>,
    private readonly exitCode = (signal: NodeJS.Signals): number => 128 + constants.signals[signal],
    private readonly output?: LogOutput,
  ) {
    for (const signal of SIGNALS) process.on(signal, () => void this.endBy(signal));
  }

  /** Runs `work`, then closes everything that it opened, also if it fails. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } finally {
      await this.waitIfEnding();
      await this.closeAll();
    }
  }

  /** Waits for `opening`, and closes its result at the end. Never returns if a signal has come meanwhile. */
  async open<T>(opening: Promise<T>, close: (opened: T, cut: AbortSignal) => Promise<void>): Promise<T> {
    this.opened.push(
      opening.then(
        (opened) => (cut) => close(opened, cut),
        () => () => Promise.resolve(), // the caller gets the error
      ),
    );
    const opened = await opening;
    await this.waitIfEnding();
    return opened;
  }

  /** Never resolves. For a process that only a signal ends. */
  async untilSignal(): Promise<never> {
    return new Promise<never>(() => undefined);
  }

  private async waitIfEnding(): Promise<void> {
    if (this.isEnding) await this.untilSignal();
  }

  private async endBy(signal: NodeJS.Signals): Promise<void> {
    if (this.isEnding) return;
    this.isEnding = true;
    this.log.info('stopping', { signal });
    setTimeout(() => process.exit(1), STOP.exit);
    const isClean = await this.closeAll();
    await this.output?.untilRead(LAST_LINES_MS);
    process.exit(isClean ? this.exitCode(signal) : 1);
  }

  /** @returns whether everything closed gracefully */
  private closeAll(): Promise<boolean> {
    this.closing ??= this.closeInTurn(AbortSignal.timeout(STOP.cut), AbortSignal.timeout(STOP.abandon));
    return this.closing;
  }

  private async closeInTurn(cut: AbortSignal, abandon: AbortSignal): Promise<boolean> {
    let isClean = true;
    for (let next = this.opened.pop(); next !== undefined; next = this.opened.pop()) {
      const closed = next.then((close) => close(cut));
      const isLast = this.opened.length === 0; // the database, which may use the time after `abandon`
      try {
        await (isLast ? closed : Promise.race([closed, rejectionOn(abandon)]));
      } catch (err) {
        isClean = false;
        this.log.error('the stop was not clean', { err });
      }
    }
    return isClean && !cut.aborted;
  }
}

function rejectionOn(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const late = (): void => reject(new Error('closing took too long'));
    if (signal.aborted) late();
    signal.addEventListener('abort', late, { once: true });
  });
}
