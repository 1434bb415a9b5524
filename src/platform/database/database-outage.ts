import { types } from 'node:util';
import { QueryRunnerAlreadyReleasedError, QueryRunnerProviderAlreadyReleasedError } from 'typeorm';

/** Unlike `instanceof Error`, `isNativeError` also recognizes errors of another realm, such as a test's. */
const { isNativeError } = types;

/**
 * Whether an error means that the database is unavailable: a connection failure (Node's socket codes; SQLSTATE classes 08, 28, 53, 57P and
 * 58, and 3D000), a timeout of the driver, of a statement (57014, also when an administrator ends it) or of a lock (55P03), or a read-only
 * database (25006). A missing right (42501) is no outage: it is a fault of the code or the installation that no retry resolves.
 */
export function isDatabaseOutage(error: unknown): boolean {
  if (!isNativeError(error)) return false;
  const sourceError = 'driverError' in error && isNativeError(error.driverError) ? error.driverError : error;
  // Node's error for a host with several addresses has those of the addresses.
  if ('errors' in sourceError && Array.isArray(sourceError.errors)) return sourceError.errors.some(isDatabaseOutage);
  const code = 'code' in sourceError && typeof sourceError.code === 'string' ? sourceError.code : '';
  if (OUTAGE_CODE.test(code)) {
    if ('syscall' in sourceError) return code !== 'ENOENT' || sourceError.syscall === 'connect'; // no socket file
    return 'driverError' in error || 'severity' in sourceError || 'query' in error;
  }
  // TypeORM releases a transaction's lost connection at once, and the transaction's next query fails with one of these errors.
  if (sourceError instanceof QueryRunnerAlreadyReleasedError) return true;
  if (sourceError instanceof QueryRunnerProviderAlreadyReleasedError) return true;
  return LOST_CONNECTION.test(sourceError.message);
}

/** Match codes, and messages of the driver's errors that have no code. */
const OUTAGE_CODE =
  /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|E(?:HOST|NET)UNREACH|EHOSTDOWN|ENOENT|ENOTFOUND|EAI_AGAIN|08...|25006|28...|3D000|53...|55P03|57014|57P0.|58...)$/;
const LOST_CONNECTION =
  /^(Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client (has encountered a connection error|was closed) and is not queryable)/;
