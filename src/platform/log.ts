/** What a log line carries beside its message. Never a password, token, secret, `Authorization` value or nextUri. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Structured lines. The message is the marker that people search for (`TRINO_ACL_SYNC_APPLIED`); facts go into the fields. */
export abstract class Log {
  abstract debug(message: string, fields?: LogFields): void;
  abstract info(message: string, fields?: LogFields): void;
  abstract warn(message: string, fields?: LogFields): void;
  /** `fields.err` may be an Error: its stack goes to the log, never to a client. */
  abstract error(message: string, fields?: LogFields): void;
}
