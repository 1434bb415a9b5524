/** An error in a log: only named fields, because others can hold any value. */
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
 * A database's error carries its statement with the values that were given (`parameters`) and rows (`detail`), and an
 * HTTP client's error its request with every header: password hashes, SQL of people's, tokens. None of that is copied.
 */
export function loggedError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return typeof error === 'string' ? error : 'not an Error';
  const logged: LoggedError = { type: error.name, message: error.message, stack: error.stack ?? '' };
  if ('code' in error && typeof error.code === 'string') logged.code = error.code;
  if ('constraint' in error && typeof error.constraint === 'string') logged.constraint = error.constraint;
  const cause = 'driverError' in error ? error.driverError : error.cause;
  return cause instanceof Error && depth < DEEPEST ? { ...logged, cause: loggedError(cause, depth + 1) } : logged;
}
