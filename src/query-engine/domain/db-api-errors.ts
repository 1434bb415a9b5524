import { NamedError } from '../../kernel/errors.js';
import type { EngineError, EngineFault, EngineFaultKind } from './engine-error.js';

/**
 * Base class of the errors of the DB-API (PEP 249, "Exceptions"). A failed statement throws a DatabaseError, wrong use of the interface
 * an InterfaceError. Only an aborted signal throws another value: the signal's reason.
 */
export class DbApiError extends NamedError {
  /**
   * Whether the same statement may succeed a little later. Repeating it is not always safe: a writing statement that has begun
   * (`queryId` is not null) may already have written rows.
   */
  readonly isRetriable: boolean = false;
}

export class InterfaceError extends DbApiError {}

/** @throws InterfaceError for an unknown option, which JavaScript would silently ignore. */
export function refuseUnknownOptions(options: object, knownNames: readonly string[], prefix = ''): void {
  const unknownName = Object.keys(options).find((name) => !knownNames.includes(name));
  if (unknownName !== undefined) throw new InterfaceError(`the option ${prefix}${unknownName} is not known`);
}

/** Details of a failure besides its message. */
export interface FailureDetails {
  /** The engine's error; null if the engine could not be reached or its answer could not be read. */
  engine?: EngineError | null;
  queryId?: string | null;
  isRetriable?: boolean;
}

export class DatabaseError extends DbApiError {
  readonly engine: EngineError | null;
  readonly queryId: string | null;
  override readonly isRetriable: boolean;

  constructor(message: string, { engine = null, queryId = null, isRetriable = false }: FailureDetails = {}) {
    super(message);
    this.engine = engine;
    this.queryId = queryId;
    this.isRetriable = isRetriable;
  }
}

/** A problem of a value: out of range, division by zero, a cast that fails. */
export class DataError extends DatabaseError {}

/** The engine, or a system that the engine reads from, is unavailable or short of resources. The statement is not the cause. */
export class OperationalError extends DatabaseError {}

export class IntegrityError extends DatabaseError {}

export class InternalError extends DatabaseError {}

export class ProgrammingError extends DatabaseError {}

/** The engine's rules deny the statement to this user. */
export class PermissionDenied extends ProgrammingError {}

export class NotSupportedError extends DatabaseError {}

type ErrorClass = new (message: string, details: FailureDetails) => DatabaseError;

const CLASS_BY_NAME: Readonly<Record<string, ErrorClass>> = {
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

const CLASS_BY_KIND: Record<EngineError['kind'], ErrorClass> = {
  USER_ERROR: ProgrammingError,
  INTERNAL_ERROR: InternalError,
  INSUFFICIENT_RESOURCES: OperationalError,
  EXTERNAL: OperationalError,
};

/** Names of errors of Trino 483 with a temporary cause, such as a failed worker: the same statement may succeed later. */
const RETRIABLE_ERRORS: ReadonlySet<string> = new Set([
  ...['TOO_MANY_REQUESTS_FAILED', 'PAGE_TRANSPORT_ERROR', 'PAGE_TRANSPORT_TIMEOUT', 'REMOTE_BUFFER_CLOSE_FAILED'],
  ...['NO_NODES_AVAILABLE', 'REMOTE_HOST_GONE', 'REMOTE_TASK_ERROR', 'REMOTE_TASK_FAILED', 'REMOTE_TASK_MISMATCH'],
  ...['SERVER_STARTING_UP', 'SERVER_SHUTTING_DOWN', 'ABANDONED_TASK', 'OUT_OF_SPILL_SPACE', 'CATALOG_NOT_AVAILABLE'],
  ...['GENERIC_INSUFFICIENT_RESOURCES', 'QUERY_QUEUE_FULL', 'CLUSTER_OUT_OF_MEMORY', 'ADMINISTRATIVELY_PREEMPTED'],
  ...['CONFIGURATION_UNAVAILABLE', 'TRANSACTION_CONFLICT'],
]);
const PERMANENT_EXTERNAL_ERRORS: ReadonlySet<string> = new Set(['UNSUPPORTED_TABLE_TYPE']);

const RETRIABLE_FAULTS: ReadonlySet<EngineFaultKind> = new Set(['unavailable', 'gone', 'share']);

/** The error for a statement for which the engine gave no page. */
export function errorOfFault({ kind, message }: EngineFault, queryId: string | null): DatabaseError {
  const ThrownClass = kind === 'protocol' ? InternalError : OperationalError;
  return new ThrownClass(message, { queryId, isRetriable: RETRIABLE_FAULTS.has(kind) });
}

/** The error for a statement that failed on the engine. */
export function databaseError(error: EngineError, queryId: string): DatabaseError {
  const { name, kind, message } = error;
  const ThrownClass = CLASS_BY_NAME[name] ?? CLASS_BY_KIND[kind];
  const isRetriable = RETRIABLE_ERRORS.has(name) || (kind === 'EXTERNAL' && !PERMANENT_EXTERNAL_ERRORS.has(name));
  return new ThrownClass(`${name}: ${message}`, { engine: error, queryId, isRetriable });
}
