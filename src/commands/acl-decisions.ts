import { AclSyncService } from '../acl-sync/acl-sync.service.js';
import { hoursProblem, LONGEST_RESTORE_HOURS, reasonProblem } from '../acl-sync/domain/restore.js';
import { PublicationsService } from '../acl-sync/publications.service.js';
import { parseDecimal } from '../kernel/decimal.js';
import { Refused } from '../kernel/errors.js';
import { idProblem } from '../platform/http/validation.js';
import { CLI_CONTEXT, reportRun, COMMAND_RUN, withPublishing } from './from-database.js';
import { print, printJson, printRemark, UnusableInput } from './output.js';

/**
 * Approves the change that waits for approval, as `POST /api/admin/acl/approvals` does, and publishes it by a run. Exit code 1: no change
 * with this hash waits for approval, or the run is refused; 2: the target failed or another run is in progress.
 */
export async function approveChange(hash: string, { json }: { json?: true }): Promise<number> {
  return withPublishing('acl approve', async (modules) => {
    try {
      await modules.get(PublicationsService).approve(hash.toLowerCase(), CLI_CONTEXT);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      printRemark(error.message);
      return 1;
    }
    return reportRun(modules, modules.get(AclSyncService).run(COMMAND_RUN), json === true);
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
 * Exit code 1: there is no such version, or the run is refused; 2: wrong usage, the target failed, or another run is in progress.
 */
export async function restoreVersion(version: string | undefined, { end, json, ...request }: Options): Promise<number> {
  const isMixedUsage = end === true && (version ?? request.reason ?? request.hours) !== undefined;
  if (isMixedUsage || (end !== true && version === undefined)) throw new UnusableInput([USAGE]);
  return version === undefined ? endRestore(json === true) : restore(parseDecimal(version), request, json === true);
}

async function restore(version: number, request: Pick<Options, 'reason' | 'hours'>, json: boolean): Promise<number> {
  const { reason = '' } = request;
  const hours = request.hours === undefined ? LONGEST_RESTORE_HOURS : parseDecimal(request.hours);
  const problems = { version: idProblem(version), '--reason': reasonProblem(reason), '--hours': hoursProblem(hours) };
  const invalidFields = Object.entries(problems).filter(([, problem]) => problem !== null);
  if (invalidFields.length > 0) throw new UnusableInput(invalidFields.map(([field, problem]) => `${field} ${problem}`));
  return withPublishing('acl restore', async (modules) => {
    const restoreRun = modules.get(PublicationsService).restore(version, reason, hours, CLI_CONTEXT);
    return reportRun(modules, restoreRun, json).catch((error: unknown) => {
      if (!(error instanceof Refused)) throw error;
      printRemark(`version ${version} was never published; acl status lists the newest`);
      return 1;
    });
  });
}

async function endRestore(json: boolean): Promise<number> {
  return withPublishing('acl restore', async (modules) => {
    const run = await modules.get(PublicationsService).endRestore(CLI_CONTEXT);
    if (run !== null) return reportRun(modules, Promise.resolve(run), json);
    if (json) printJson({ outcome: null });
    else print('no version is restored');
    return 0;
  });
}
