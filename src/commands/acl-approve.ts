import { AclSyncService } from '../acl-sync/acl-sync.service.js';
import { ApprovalsService } from '../acl-sync/approvals.service.js';
import { PublishingModule } from '../acl-sync/publishing.module.js';
import { Refused } from '../kernel/errors.js';
import type { Settings } from '../platform/settings.js';
import { remark } from './output.js';
import { BY_COMMAND, LOCK_TIMEOUT_MS, reportRun } from './run-report.js';
import { withModules } from './with-modules.js';

/**
 * Approves the text that waits, as `POST /api/admin/acl/approvals`, and publishes it by a run. Exit code 1: this text does not
 * wait, or the run is refused; 2: as `acl sync`.
 */
export async function approveChange(hash: string, { json }: { json?: true }): Promise<void> {
  const needs = { command: 'acl approve', module: (settings: Settings) => PublishingModule.with(settings) } as const;
  process.exitCode = await withModules(needs, async (modules) => {
    try {
      await modules.get(ApprovalsService).approve(hash.toLowerCase(), BY_COMMAND);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      remark(error.detail ?? error.message);
      return 1;
    }
    const order = { trigger: 'cli', by: BY_COMMAND, lockTimeoutMs: LOCK_TIMEOUT_MS } as const;
    return reportRun(modules, modules.get(AclSyncService).run(order), json === true);
  });
}
