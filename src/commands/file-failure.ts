import { CommitUnconfirmed } from '../grants/access-writes.service.js';
import { RemoteSilence } from './remote-service.js';
import { isDatabaseOutage } from '../platform/database/database-outage.js';

/** Says what became of a file's changes where the database or the service failed; any other failure stays what it is. */
export function fileFailure(path: string, error: unknown, verb: 'apply' | 'import'): unknown {
  const unknown = `whether the changes are made is not known: ${verb} the file again, which makes only those that are missing`;
  if (error instanceof RemoteSilence) return new Error(`${path}: ${error.message}; ${unknown}`, { cause: error });
  const isUnconfirmed = error instanceof CommitUnconfirmed;
  const cause: unknown = isUnconfirmed ? error.cause : error;
  if (!isDatabaseOutage(cause)) return cause;
  const outcome = isUnconfirmed ? unknown : 'nothing was changed';
  return new Error(`${path}: the database is unavailable or too slow; ${outcome}`, { cause });
}
