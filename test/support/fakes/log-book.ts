import type { LogMarker } from '../../../src/kernel/log-marker.js';
import { Log, type LogFields } from '../../../src/platform/log/log.js';

/** Keeps every line for a test to read. */
export class LogBook extends Log {
  readonly lines: { level: string; message: string; fields: LogFields }[] = [];

  override debug(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: 'debug', message, fields });
  }

  override info(message: LogMarker, fields: LogFields = {}): void {
    this.lines.push({ level: 'info', message, fields });
  }

  override warn(message: LogMarker, fields: LogFields = {}): void {
    this.lines.push({ level: 'warn', message, fields });
  }

  override error(message: LogMarker, fields: LogFields = {}): void {
    this.lines.push({ level: 'error', message, fields });
  }

  /** The messages of one level. */
  at(level: string): string[] {
    return this.lines.filter((line) => line.level === level).map((line) => line.message);
  }
}
