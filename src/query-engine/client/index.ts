/** The exports of `grantline-trino-client`. */
export type { ColumnDescription, Connection, Cursor, ExecuteOptions } from '../connection.js';
export type { Progress, Row } from '../running-statement.js';
export {
  DatabaseError,
  DataError,
  DbApiError,
  IntegrityError,
  InterfaceError,
  InternalError,
  NotSupportedError,
  OperationalError,
  PermissionDenied,
  ProgrammingError,
} from '../domain/db-api-errors.js';
export type { EngineError } from '../domain/engine-error.js';
export type { EngineType } from '../domain/engine-type.js';
export { NamedRow, type NativeValue } from '../domain/engine-value.js';
export type { Parameter } from '../domain/sql-literal.js';
export {
  clientCredentials,
  type ClientCredentials,
  connect,
  type ConnectOptions,
  type TokenProvider,
} from './connect.js';
