import type { Writable } from 'node:stream';
import { prettyFactory } from 'pino-pretty';
import type { Settings } from '../settings/settings.js';

/** The most unread bytes. A service under load writes a megabyte in a few seconds. */
const MAX_UNREAD = 1024 * 1024;

/**
 * Writes log lines to a non-blocking stream, which standard output is if it is a pipe or a socket. A collector that reads too slowly loses
 * lines but delays nothing. pino's own writer would block a thread, without which the process cannot end, and would keep all unread lines
 * in memory.
 */
export class LogOutput {
  /** Number of dropped lines so far. */
  dropped = 0;
  /** Called with the number of lines dropped at the present place of the log. */
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

  /** Writes a line. The kernel has it when this returns, unless the reader is behind, so that a process can end at once. */
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

  /** Resolves when everything has been read, or after the given time. */
  async untilRead(milliseconds: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const late = setTimeout(resolve, milliseconds);
      this.stream.write('', () => {
        clearTimeout(late);
        resolve();
      });
    });
  }
}
