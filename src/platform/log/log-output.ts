import type { Writable } from 'node:stream';
import { prettyFactory } from 'pino-pretty';
import type { Settings } from '../settings/settings.js';

/** The most bytes that are written but not read yet. A service under load writes a megabyte in a few seconds. */
const MAX_UNREAD_BYTES = 1024 * 1024;

/**
 * Writes log lines to a non-blocking stream, such as standard output to a pipe or a socket. A reader that is too slow loses lines, but does
 * not delay the service. pino's own writer would keep all unread lines in memory, and its blocked thread would keep the process from ending.
 */
export class LogOutput {
  droppedLines = 0;
  /** Called with the number of dropped lines, before the next line is written. */
  onDroppedLines: (lines: number) => void = () => undefined;
  private readonly formatLine: (line: string) => string;
  private droppedSinceLastLine = 0;

  constructor(
    private readonly stream: Writable,
    format: Settings['log']['format'],
    colorize = false,
  ) {
    this.formatLine = format === 'pretty' ? prettyFactory({ singleLine: true, colorize }) : (line) => line;
  }

  /** Writes or drops a line. If the reader keeps up, the kernel has the line when this returns, so that the process can end at once. */
  write(line: string): void {
    const isFull =
      this.stream.writableLength > (this.droppedSinceLastLine === 0 ? MAX_UNREAD_BYTES : MAX_UNREAD_BYTES / 2);
    if (isFull) {
      this.droppedSinceLastLine += 1;
      this.droppedLines += 1;
      return;
    }
    const lines = this.droppedSinceLastLine;
    this.droppedSinceLastLine = 0;
    if (lines > 0) this.onDroppedLines(lines);
    this.stream.write(this.formatLine(line));
  }

  /** Resolves when all lines have been read, or after the given time. */
  async waitUntilRead(milliseconds: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.stream.write('', () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}
