import { AclSyncService } from '../acl-sync/acl-sync.service.js';
import { hoursProblem, LONGEST_RESTORE_HOURS, reasonProblem } from '../acl-sync/domain/restore.js';
import { PublicationsService } from '../acl-sync/publications.service.js';
import { parseDecimal } from '../kernel/decimal.js';
import { Refused } from '../kernel/errors.js';
import { idProblem } from '../platform/http/validation.js';
import { BY_COMMAND, reportRun, RUN_BY_COMMAND, withPublishing } from './from-database.js';
import { print, printJson, remark, Unusable } from './output.js';

/**
 * Approves the rules that wait for approval, as `POST /api/admin/acl/approvals` does, and publishes them by a run. Exit code 1: the rules
 * with this hash do not wait for approval, or the run is refused; 2: as for `acl sync`.
 */
export async function approveChange(hash: string, { json }: { json?: true }): Promise<number> {
  return withPublishing('acl approve', async (modules) => {
    try {
      await modules.get(PublicationsService).approve(hash.toLowerCase(), BY_COMMAND);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      remark(error.message);
      return 1;
    }
    return reportRun(modules, modules.get(AclSyncService).run(RUN_BY_COMMAND), json === true);
  });
}

interface Options {
  reason?: string;
  hours?: string;
  end?: true;
  json?: true;
}

const USAGE = 'usage: grantline acl restore VERSION --reason TEXT [--hours N], or grantline acl restore --end';

/**
 * Publishes an older version for some hours, as `POST /api/admin/acl/publications/:version/restore` does, or ends such a restoration.
 * Exit code 1: there is no such version, or the run is refused; 2: wrong usage, or as for `acl sync`.
 */
export async function restoreVersion(version: string | undefined, { end, json, ...terms }: Options): Promise<number> {
  const isMixed = end === true && (version ?? terms.reason ?? terms.hours) !== undefined;
  if (isMixed || (end !== true && version === undefined)) throw new Unusable([USAGE]);
  return version === undefined ? endRestore(json === true) : restore(parseDecimal(version), terms, json === true);
}

async function restore(version: number, terms: Pick<Options, 'reason' | 'hours'>, json: boolean): Promise<number> {
  const { reason = '' } = terms;
  const hours = terms.hours === undefined ? LONGEST_RESTORE_HOURS : parseDecimal(terms.hours);
  const problems = { version: idProblem(version), reason: reasonProblem(reason), hours: hoursProblem(hours) };
  const wrong = Object.entries(problems).filter(([, problem]) => problem !== null);
  if (wrong.length > 0) throw new Unusable(wrong.map(([field, problem]) => `${field} ${problem}`));
  return withPublishing('acl restore', async (modules) => {
    const run = modules.get(PublicationsService).restore(version, reason, hours, BY_COMMAND);
    return reportRun(modules, run, json).catch((error: unknown) => {
      if (!(error instanceof Refused)) throw error;
      remark(`version ${version} was never published; acl status lists the newest`);
      return 1;
    });
  });
}

async function endRestore(json: boolean): Promise<number> {
  return withPublishing('acl restore', async (modules) => {
    const run = await modules.get(PublicationsService).endRestore(BY_COMMAND);
    if (run !== null) return reportRun(modules, Promise.resolve(run), json);
    if (json) printJson({ outcome: null });
    else print('no version is restored');
    return 0;
  });
}
