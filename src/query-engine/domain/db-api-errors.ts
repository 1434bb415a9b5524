import { NamedError } from '../../kernel/errors.js';
import type { EngineError, EngineFault, EngineFaultKind } from './engine-error.js';

/**
 * The errors of the DB-API (PEP 249, "Exceptions"). A failed statement throws a DatabaseError, wrong use of the interface an
 * InterfaceError. Only the reason of an aborted signal is thrown besides these.
 */
export class DbApiError extends NamedError {
  /**
   * Whether the same statement may succeed a little later. The statement may have had effects all the same: one that writes and has
   * begun (`queryId` is not null) may have written.
   */
  readonly isRetriable: boolean = false;
}

export class InterfaceError extends DbApiError {}

/** @throws InterfaceError for an unknown option, which JavaScript would silently ignore. */
export function refuseUnknownOptions(options: object, known: readonly string[], prefix = ''): void {
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown !== undefined) throw new InterfaceError(`the option ${prefix}${unknown} is not known`);
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

/** Not caused by the statement: the engine, or a system that it reads from, is unavailable or short of resources. */
export class OperationalError extends DatabaseError {}

export class IntegrityError extends DatabaseError {}

export class InternalError extends DatabaseError {}

export class ProgrammingError extends DatabaseError {}

/** The engine's rules deny the statement to this user. */
export class PermissionDenied extends ProgrammingError {}

export class NotSupportedError extends DatabaseError {}

type Kind = new (message: string, details: FailureDetails) => DatabaseError;

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

/** Error names of Trino 483 that depend on where and when a statement ran, and not on the statement. */
const RETRIABLE: ReadonlySet<string> = new Set([
  ...['TOO_MANY_REQUESTS_FAILED', 'PAGE_TRANSPORT_ERROR', 'PAGE_TRANSPORT_TIMEOUT', 'REMOTE_BUFFER_CLOSE_FAILED'],
  ...['NO_NODES_AVAILABLE', 'REMOTE_HOST_GONE', 'REMOTE_TASK_ERROR', 'REMOTE_TASK_FAILED', 'REMOTE_TASK_MISMATCH'],
  ...['SERVER_STARTING_UP', 'SERVER_SHUTTING_DOWN', 'ABANDONED_TASK', 'OUT_OF_SPILL_SPACE', 'CATALOG_NOT_AVAILABLE'],
  ...['GENERIC_INSUFFICIENT_RESOURCES', 'QUERY_QUEUE_FULL', 'CLUSTER_OUT_OF_MEMORY', 'ADMINISTRATIVELY_PREEMPTED'],
  ...['CONFIGURATION_UNAVAILABLE', 'TRANSACTION_CONFLICT'],
]);
/** Error names of permanent failures of a system behind the engine. */
const EXTERNAL_FOR_GOOD: ReadonlySet<string> = new Set(['UNSUPPORTED_TABLE_TYPE']);

function isRetriable({ name, kind }: EngineError): boolean {
  return RETRIABLE.has(name) || (kind === 'EXTERNAL' && !EXTERNAL_FOR_GOOD.has(name));
}

const RETRIABLE_FAULTS: ReadonlySet<EngineFaultKind> = new Set(['unavailable', 'gone', 'share']);

/** The error for a statement of which the engine gave no page. */
export function errorOfFault({ kind, message }: EngineFault, queryId: string | null): DatabaseError {
  const Thrown = kind === 'protocol' ? InternalError : OperationalError;
  return new Thrown(message, { queryId, isRetriable: RETRIABLE_FAULTS.has(kind) });
}

/** The error for a statement that the engine failed. */
export function databaseError(error: EngineError, queryId: string): DatabaseError {
  const Thrown = BY_NAME[error.name] ?? BY_KIND[error.kind];
  return new Thrown(`${error.name}: ${error.message}`, { engine: error, queryId, isRetriable: isRetriable(error) });
}
