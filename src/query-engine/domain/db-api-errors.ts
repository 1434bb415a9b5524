import type { EngineError } from './engine-error.js';

/**
 * The tree of errors of the DB-API (PEP 249, "Exceptions"). Everything that goes wrong with a statement is a
 * DatabaseError; using the interface wrongly is an InterfaceError. Nothing else is thrown, but what aborted a signal.
 */
export class DbApiError extends Error {
  override name = 'DbApiError';
}

export class InterfaceError extends DbApiError {
  override name = 'InterfaceError';
}

export class DatabaseError extends DbApiError {
  override name = 'DatabaseError';

  constructor(
    message: string,
    /** What the engine said; null when it said nothing, because it could not be reached or understood. */
    readonly engine: EngineError | null = null,
    readonly queryId: string | null = null,
  ) {
    super(message);
  }
}

/** A value that does not fit: out of range, division by zero, a cast that fails. */
export class DataError extends DatabaseError {
  override name = 'DataError';
}

/** Nobody's fault in the statement: the engine is away, short of something, or what it reads from is. */
export class OperationalError extends DatabaseError {
  override name = 'OperationalError';
}

export class IntegrityError extends DatabaseError {
  override name = 'IntegrityError';
}

export class InternalError extends DatabaseError {
  override name = 'InternalError';
}

export class ProgrammingError extends DatabaseError {
  override name = 'ProgrammingError';
}

/** The engine's rules do not let this user do that. */
export class PermissionDenied extends ProgrammingError {
  override name = 'PermissionDenied';
}

export class NotSupportedError extends DatabaseError {
  override name = 'NotSupportedError';
}

type Kind = new (message: string, engine: EngineError | null, queryId: string | null) => DatabaseError;

const BY_NAME: Readonly<Record<string, Kind>> = {
  PERMISSION_DENIED: PermissionDenied,
  NOT_SUPPORTED: NotSupportedError,
  CONSTRAINT_VIOLATION: IntegrityError,
  MERGE_TARGET_ROW_MULTIPLE_MATCHES: IntegrityError,
  DIVISION_BY_ZERO: DataError,
  NUMERIC_VALUE_OUT_OF_RANGE: DataError,
  INVALID_CAST_ARGUMENT: DataError,
  INVALID_ARRAY_ELEMENT: DataError,
  EXCEEDED_FUNCTION_MEMORY_LIMIT: OperationalError,
};

const BY_KIND: Record<EngineError['kind'], Kind> = {
  USER_ERROR: ProgrammingError,
  INTERNAL_ERROR: InternalError,
  INSUFFICIENT_RESOURCES: OperationalError,
  EXTERNAL: OperationalError,
};

export function databaseError(error: EngineError, queryId: string): DatabaseError {
  const Thrown = BY_NAME[error.name] ?? BY_KIND[error.kind];
  return new Thrown(`${error.name}: ${error.message}`, error, queryId);
}
