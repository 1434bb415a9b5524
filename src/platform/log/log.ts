import type { LogMarker } from '../../kernel/log-marker.js';

/** Fields of a log line besides its message. They must never contain a password, token, secret, `Authorization` value or nextUri. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Writes structured lines. The message is a fixed text to search for, such as `TRINO_ACL_SYNC_APPLIED`; facts are fields. `debug` is for developers. */
export abstract class Log {
  abstract debug(message: string, fields?: LogFields): void;
  abstract info(marker: LogMarker, fields?: LogFields): void;
  abstract warn(marker: LogMarker, fields?: LogFields): void;
  /** `fields.err` may be an Error. Its stack is written to the log. */
  abstract error(marker: LogMarker, fields?: LogFields): void;

  /** Number of lines that were dropped so far because the reader was too slow. */
  droppedLines(): number {
    return 0;
  }
}
