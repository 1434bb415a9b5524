import { type DestinationStream, type Logger, pino } from 'pino';
import type { LogMarker } from '../../kernel/log-marker.js';
import { Log, type LogFields } from './log.js';
import type { Settings } from '../settings/settings.js';
import type { LogOutput } from './log-output.js';
import type { LoggerService } from '@nestjs/common';

const ORIGIN = performance.timeOrigin;

/** The one pino of the process, through which the HTTP server, Nest and the service itself write. */
export function createPino(settings: Settings['log'], destination: DestinationStream): Logger {
  const options = {
    level: settings.level,
    base: null,
    timestamp: () => `,"time":"${new Date(ORIGIN + performance.now()).toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }), log: redacted },
    serializers: { err: (error: unknown) => safeError(error) },
  };
  return pino(options, destination);
}

const SECRETS = ['password', 'authorization', 'headers'];

/** Censors secrets in the objects of a line. pino's own redaction would take a tenth of the time of a small request. */
function redacted(fields: Record<string, unknown>): Record<string, unknown> {
  let kept = fields;
  for (const name in fields) {
    const value = fields[name];
    if (typeof value !== 'object' || value === null || value instanceof Error) continue;
    const secrets = SECRETS.filter((secret) => secret in value);
    if (secrets.length === 0) continue;
    const censored = Object.fromEntries(secrets.map((secret) => [secret, '[redacted]']));
    kept = { ...kept, [name]: { ...value, ...censored } };
  }
  return kept;
}

export class PinoLog extends Log {
  constructor(
    private readonly pino: Logger,
    private readonly output?: LogOutput,
  ) {
    super();
    if (output !== undefined) output.onGap = (lines) => this.warn('log lines dropped', { lines });
  }

  override droppedLines(): number {
    return this.output?.dropped ?? 0;
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

/** An error in a log, with named fields only, because other fields can contain any value. */
interface LoggedError {
  type: string;
  message: string;
  stack: string;
  code?: string;
  constraint?: string;
  cause?: LoggedError;
}

const DEEPEST = 4;

/**
 * Copies only safe fields of an error. A database error contains its statement with values (`parameters`) and rows (`detail`), and an HTTP
 * client's error the request with all headers: password hashes, users' SQL, tokens.
 */
export function safeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return typeof error === 'string' ? error : 'not an Error';
  const logged: LoggedError = { type: error.name, message: error.message, stack: error.stack ?? '' };
  if ('code' in error && typeof error.code === 'string') logged.code = error.code;
  if ('constraint' in error && typeof error.constraint === 'string') logged.constraint = error.constraint;
  const cause = 'driverError' in error ? error.driverError : error.cause;
  return cause instanceof Error && depth < DEEPEST ? { ...logged, cause: safeError(cause, depth + 1) } : logged;
}

/** Writes Nest's own lines (start-up, scheduler) to the log. Lines about routes become `debug`; Nest's `debug` and `verbose` lines are dropped. */
export class NestLog implements LoggerService {
  constructor(private readonly target: Log) {}

  log(message: unknown, context?: string): void {
    this.target.debug(String(message), { context });
  }

  warn(message: unknown, context?: string): void {
    this.target.warn('message of the framework', { text: String(message), context });
  }

  error(message: unknown, ...rest: unknown[]): void {
    if (message instanceof Error) this.target.error('message of the framework', { err: message });
    else this.target.error('message of the framework', { text: String(message), context: rest.at(-1) });
  }
}
