import { AclSyncService } from '../acl-sync/acl-sync.service.js';
import { failureOf } from '../acl-sync/domain/publication.js';
import { type Preview, previewForm, PreviewService } from '../acl-sync/preview.service.js';
import { TargetProbe } from '../acl-sync/heartbeat.service.js';
import { remark, withProgress } from './output.js';
import { replacedAccess, replacedForm, replacedLines } from './replaced-access.js';
import { printPreview } from './run-output.js';
import { logMissingRights, reportRun, RUN_BY_COMMAND, withPublishing } from './run-report.js';

/** A run of this process. @returns the exit code */
export async function syncFromDatabase(dryRun: boolean, json: boolean): Promise<number> {
  return withPublishing('acl sync', async (modules) => {
    if (dryRun) return show(modules.get(PreviewService), modules.get(TargetProbe), json);
    return reportRun(modules, modules.get(AclSyncService).run(RUN_BY_COMMAND), json);
  });
}

async function show(previews: PreviewService, target: TargetProbe, json: boolean): Promise<number> {
  let preview: Preview;
  try {
    preview = await withProgress('compiling and checking', previews.preview(null));
  } catch (error) {
    const { reason, message } = failureOf(error);
    if (reason === 'internal') throw error;
    await logMissingRights(reason, target);
    remark(`${reason}: ${message}`);
    return 2;
  }
  const { drift, live, snapshot, candidate } = preview;
  const replaced = drift && live !== null ? await replacedAccess(live, candidate.text, snapshot) : null;
  return printPreview(previewForm(preview), json, {
    form: { access_replaced: replaced && replacedForm(replaced) },
    lines: replaced === null ? [] : replacedLines(replaced),
  });
}
