import type { LogMarker } from '../../kernel/log-marker.js';

/** Fields of a log line besides its message. Never a password, token, secret, `Authorization` value or nextUri. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Writes structured lines. The message is a marker to search for (`TRINO_ACL_SYNC_APPLIED`); facts are fields. `debug` is for developers. */
export abstract class Log {
  abstract debug(message: string, fields?: LogFields): void;
  abstract info(marker: LogMarker, fields?: LogFields): void;
  abstract warn(marker: LogMarker, fields?: LogFields): void;
  /** `fields.err` may be an Error: its stack goes to the log, never to a client. */
  abstract error(marker: LogMarker, fields?: LogFields): void;

  /** Number of lines dropped so far because they were not read in time. */
  droppedLines(): number {
    return 0;
  }
}
