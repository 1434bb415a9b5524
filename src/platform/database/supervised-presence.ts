import type { Client } from 'pg';
import type { LogMarker } from '../../kernel/log-marker.js';

/** Ends of the server within so many milliseconds, after which it is not started again: it would end once more. */
const MAX_ENDS = { count: 5, milliseconds: 600_000 };

/** A process's presence at the embedded database: whenever its connection is lost, it joins again, and starts the server if need be. */
export class SupervisedPresence {
  /** Rejects once the database is given up. */
  readonly failure: Promise<never>;
  private readonly leaving = new AbortController();
  private readonly ends: number[] = [];
  private fail: (error: Error) => void = () => undefined;
  private joining: Promise<void> = Promise.resolve();

  /** @param join resolves with a connection to the server, which it starts where none runs; rejects when it does not start */
  constructor(
    private client: Client,
    private readonly join: (leaving: AbortSignal) => Promise<Client>,
    private readonly report: (line: LogMarker) => void,
    private readonly logFile: string,
  ) {
    this.failure = new Promise((_, reject) => (this.fail = reject));
    this.failure.catch(() => undefined); // for commands, which fail by themselves
    this.watch();
  }

  /** The last connection, which is not watched any more. */
  async leave(): Promise<Client> {
    this.leaving.abort();
    await this.joining;
    return this.client;
  }

  private watch(): void {
    this.client.once('end', () => {
      if (!this.leaving.signal.aborted) this.joining = this.joinAgain();
    });
  }

  private async joinAgain(): Promise<void> {
    const now = performance.now();
    this.ends.push(now);
    const recent = this.ends.filter((end) => end > now - MAX_ENDS.milliseconds);
    if (recent.length > MAX_ENDS.count) {
      this.fail(
        new Error(`the embedded database ended ${recent.length} times within ten minutes; see ${this.logFile}`),
      );
      return;
    }
    this.report('the embedded database is gone, starting it again');
    try {
      this.client = await this.join(this.leaving.signal);
      this.watch();
      if (!this.leaving.signal.aborted) this.report('the embedded database is back');
    } catch (error) {
      if (!this.leaving.signal.aborted) this.fail(error instanceof Error ? error : new Error(String(error)));
    }
  }
}
