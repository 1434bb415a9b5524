import type { LogMarker } from '../../kernel/log-marker.js';

/** Fields of a log line beside its message. Never a password, token, secret, `Authorization` value or nextUri. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Structured lines. The message is the marker that people search for (`TRINO_ACL_SYNC_APPLIED`); facts go into the fields. `debug` is for developers. */
export abstract class Log {
  abstract debug(message: string, fields?: LogFields): void;
  abstract info(marker: LogMarker, fields?: LogFields): void;
  abstract warn(marker: LogMarker, fields?: LogFields): void;
  /** `fields.err` may be an Error: its stack goes to the log, never to a client. */
  abstract error(marker: LogMarker, fields?: LogFields): void;

  /** So far, because nobody read them in time. */
  droppedLines(): number {
    return 0;
  }
}
