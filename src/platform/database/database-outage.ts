import { types } from 'node:util';
import { QueryRunnerAlreadyReleasedError, QueryRunnerProviderAlreadyReleasedError } from 'typeorm';

/** True for errors of another realm as well, for which instanceof is false. */
const { isNativeError } = types;

/**
 * Connection failures of the driver (Node's socket codes; PostgreSQL's classes 08, 28, 53, 57P and 58, and 3D000), timeouts: of the
 * driver, of a statement (57014, also where an administrator ends it) and of a lock (55P03), and a database that only reads (25006). A
 * right that is missing (42501) is a fault of ours or of the installation: no retry mends it.
 */
export function isDatabaseOutage(error: unknown): boolean {
  if (!isNativeError(error)) return false;
  const source = 'driverError' in error && isNativeError(error.driverError) ? error.driverError : error;
  const code = 'code' in source && typeof source.code === 'string' ? source.code : '';
  if (
    /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|08...|25006|28...|3D000|53...|55P03|57014|57P0.|58...)$/.test(
      code,
    )
  ) {
    return 'driverError' in error || 'severity' in source || 'query' in error || 'syscall' in source;
  }
  // TypeORM releases a transaction's lost connection at once; the next query of the transaction fails with these.
  if (source instanceof QueryRunnerAlreadyReleasedError) return true;
  if (source instanceof QueryRunnerProviderAlreadyReleasedError) return true;
  return LOST_CONNECTION.test(source.message);
}

/** Errors of the driver that have no code. */
const LOST_CONNECTION =
  /^(Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client (has encountered a connection error|was closed) and is not queryable)/;
