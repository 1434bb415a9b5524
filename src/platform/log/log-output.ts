import type { Writable } from 'node:stream';
import { prettyFactory } from 'pino-pretty';
import type { Settings } from '../settings/settings.js';

/** Bytes that may wait until they are read; a service under load writes a megabyte in a few seconds. */
const MAX_UNREAD = 1024 * 1024;

/**
 * Writes log lines to a stream that does not block, as standard output does where it is a pipe or a socket. A collector
 * that reads too slowly loses lines, and delays nothing. pino's own writer blocks a thread instead, without which the
 * process cannot end, and keeps in memory whatever is not read.
 */
export class LogOutput {
  /** Lines, so far. */
  dropped = 0;
  /** Called with the number of lines that were dropped at this place. */
  onGap: (lines: number) => void = () => undefined;
  private readonly formatted: (line: string) => string;
  private gap = 0;

  constructor(
    private readonly stream: Writable,
    format: Settings['log']['format'],
    colorize = false,
  ) {
    this.formatted = format === 'pretty' ? prettyFactory({ singleLine: true, colorize }) : (line) => line;
  }

  /** The last line of a process is handed to the kernel before this returns, unless the reader is behind. */
  write(line: string): void {
    const isFull = this.stream.writableLength > (this.gap === 0 ? MAX_UNREAD : MAX_UNREAD / 2);
    if (isFull) {
      this.gap += 1;
      this.dropped += 1;
      return;
    }
    const lines = this.gap;
    this.gap = 0;
    if (lines > 0) this.onGap(lines);
    this.stream.write(this.formatted(line));
  }

  /** Resolves when everything has been read, or so many milliseconds later. */
  async read(milliseconds: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const late = setTimeout(resolve, milliseconds);
      this.stream.write('', () => {
        clearTimeout(late);
        resolve();
      });
    });
  }
}
