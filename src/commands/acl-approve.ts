import { AclSyncService } from '../acl-sync/acl-sync.service.js';
import { PublicationsService } from '../acl-sync/publications.service.js';
import { Refused } from '../kernel/errors.js';
import { remark } from './output.js';
import { BY_COMMAND, reportRun, RUN_BY_COMMAND, withPublishing } from './run-report.js';

/**
 * Approves the text that waits, as `POST /api/admin/acl/approvals`, and publishes it by a run. Exit code 1: this text does not
 * wait, or the run is refused; 2: as `acl sync`.
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
