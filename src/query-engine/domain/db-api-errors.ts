import { NamedError } from '../../kernel/named-error.js';
import type { EngineError } from './engine-error.js';

/**
 * The errors of the DB-API (PEP 249, "Exceptions"). A statement that fails throws a DatabaseError, wrong use of the
 * interface an InterfaceError. Nothing else is thrown, except for the reason of an aborted signal.
 */
export class DbApiError extends NamedError {}

export class InterfaceError extends DbApiError {}

export class DatabaseError extends DbApiError {
  constructor(
    message: string,
    /** The engine's error; null when it could not be reached or its answer could not be read. */
    readonly engine: EngineError | null = null,
    readonly queryId: string | null = null,
  ) {
    super(message);
  }
}

/** A problem of a value: out of range, division by zero, a cast that fails. */
export class DataError extends DatabaseError {}

/** Not caused by the statement: the engine, or a system that it reads from, is unavailable or short of resources. */
export class OperationalError extends DatabaseError {}

export class IntegrityError extends DatabaseError {}

export class InternalError extends DatabaseError {}

export class ProgrammingError extends DatabaseError {}

/** The engine's rules deny it to this user. */
export class PermissionDenied extends ProgrammingError {}

export class NotSupportedError extends DatabaseError {}

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
