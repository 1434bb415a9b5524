import { type DestinationStream, type Logger, pino } from 'pino';
import { PinoPretty } from 'pino-pretty';
import { Log, type LogFields } from '../log.js';
import type { LogMarker } from '../../kernel/log-marker.js';
import type { Settings } from '../settings.js';
import { loggedError } from './logged-error.js';

/** One pino for the whole process: the HTTP server, Nest and our own lines all write through it. */
export function createPino(settings: Settings['log'], destination?: DestinationStream): Logger {
  const options = {
    level: settings.level,
    base: null,
    timestamp: () => `,"time":"${new Date(performance.timeOrigin + performance.now()).toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: (error: unknown) => loggedError(error) },
    redact: { paths: ['headers.authorization', 'req.headers', '*.password', '*.authorization'], censor: '[redacted]' },
  };
  if (destination !== undefined) return pino(options, destination);
  // Written synchronously, so that the last lines before an exit are not lost.
  if (settings.format === 'pretty')
    return pino(options, PinoPretty({ sync: true, singleLine: true, colorize: process.stdout.isTTY }));
  return pino(options);
}

export class PinoLog extends Log {
  constructor(private readonly pino: Logger) {
    super();
  }

  override debug(message: string, fields: LogFields = {}): void {
    this.pino.debug(fields, message);
  }

  override info(marker: LogMarker, fields: LogFields = {}): void {
    this.pino.info(fields, marker);
  }

  override warn(marker: LogMarker, fields: LogFields = {}): void {
    this.pino.warn(fields, marker);
  }

  override error(marker: LogMarker, fields: LogFields = {}): void {
    this.pino.error(fields, marker);
  }
}
