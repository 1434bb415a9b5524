import { type DestinationStream, type Logger, pino } from 'pino';
import type { LogMarker } from '../../kernel/log-marker.js';
import { Log, type LogFields } from './log.js';
import type { Settings } from '../settings/settings.js';
import type { LogOutput } from './log-output.js';
import type { LoggerService } from '@nestjs/common';

const TIME_ORIGIN = performance.timeOrigin;

/** Makes the one pino logger of the process. The HTTP server, Nest and the service itself write through it. */
export function createPino(settings: Settings['log'], destination: DestinationStream): Logger {
  const options = {
    level: settings.level,
    base: null,
    timestamp: () => `,"time":"${new Date(TIME_ORIGIN + performance.now()).toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }), log: redactSecrets },
    serializers: { err: (error: unknown) => safeError(error) },
  };
  return pino(options, destination);
}

const SECRET_NAMES = ['password', 'authorization', 'headers'];

/** Censors secrets in the objects of a line. pino's own redaction would take a tenth of the time of a small request. */
function redactSecrets(fields: Record<string, unknown>): Record<string, unknown> {
  let safeFields = fields;
  for (const name in fields) {
    const value = fields[name];
    if (typeof value !== 'object' || value === null || value instanceof Error) continue;
    const secretNames = SECRET_NAMES.filter((secret) => secret in value);
    if (secretNames.length === 0) continue;
    const censoredFields = Object.fromEntries(secretNames.map((secret) => [secret, '[redacted]']));
    safeFields = { ...safeFields, [name]: { ...value, ...censoredFields } };
  }
  return safeFields;
}

export class PinoLog extends Log {
  constructor(
    private readonly pino: Logger,
    private readonly output?: LogOutput,
  ) {
    super();
    if (output !== undefined) output.onDroppedLines = (lines) => this.warn('log lines dropped', { lines });
  }

  override droppedLines(): number {
    return this.output?.droppedLines ?? 0;
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

/** An error as it is logged. It has only these fields, because other fields of an error can contain any value. */
interface LoggedError {
  type: string;
  message: string;
  stack: string;
  code?: string;
  constraint?: string;
  cause?: LoggedError;
}

const MAX_DEPTH = 4;

/**
 * Copies only safe fields of an error. A database error contains its statement with values (`parameters`) and rows (`detail`), and an HTTP
 * client's error the request with all headers: password hashes, users' SQL, tokens.
 */
export function safeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return typeof error === 'string' ? error : 'not an Error';
  const safeCopy: LoggedError = { type: error.name, message: error.message, stack: error.stack ?? '' };
  if ('code' in error && typeof error.code === 'string') safeCopy.code = error.code;
  if ('constraint' in error && typeof error.constraint === 'string') safeCopy.constraint = error.constraint;
  const cause = 'driverError' in error ? error.driverError : error.cause;
  return cause instanceof Error && depth < MAX_DEPTH ? { ...safeCopy, cause: safeError(cause, depth + 1) } : safeCopy;
}

/** Writes Nest's own lines to the log. Informational lines, such as those about routes, get level `debug`. `debug` and `verbose` lines are dropped. */
export class NestLog implements LoggerService {
  constructor(private readonly targetLog: Log) {}

  log(message: unknown, context?: string): void {
    this.targetLog.debug(String(message), { context });
  }

  warn(message: unknown, context?: string): void {
    this.targetLog.warn('message of the framework', { text: String(message), context });
  }

  error(message: unknown, ...contexts: unknown[]): void {
    if (message instanceof Error) this.targetLog.error('message of the framework', { err: message });
    else this.targetLog.error('message of the framework', { text: String(message), context: contexts.at(-1) });
  }
}
