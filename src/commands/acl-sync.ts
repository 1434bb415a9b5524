import { AclSyncService } from '../acl-sync/acl-sync.service.js';
import { accessLines } from '../acl-sync/domain/access-text.js';
import { failureOf } from '../acl-sync/domain/publication.js';
import { findingText } from '../acl-sync/domain/run-text.js';
import { type Preview, previewForm, PreviewService } from '../acl-sync/preview.service.js';
import { TargetProbe } from '../acl-sync/target-probe.service.js';
import { print, remark, withProgress } from './output.js';
import { type ReplacedAccess, replacedAccess, replacedForm, replacedLines } from './replaced-access.js';
import { logMissingRights, reportRun, RUN_BY_COMMAND, withPublishing } from './run-report.js';

interface Options {
  dryRun?: true;
  json?: true;
}

/** One run of the sync. Exit code 0: published, or nothing to change; 1: refused by a check; 2: the target or another run is in the way. */
export async function syncRules({ dryRun, json }: Options): Promise<number> {
  return withPublishing('acl sync', async (modules) => {
    const target = modules.get(TargetProbe);
    if (dryRun) return show(modules.get(PreviewService), target, json === true);
    return reportRun(modules, modules.get(AclSyncService).run(RUN_BY_COMMAND), json === true);
  });
}

async function show(previews: PreviewService, target: TargetProbe, json: boolean): Promise<number> {
  let preview: Preview;
  try {
    const result = await withProgress('compiling and checking', previews.preview(null));
    if (result.kind === 'too-many') throw new Error('a command makes one preview');
    preview = result.made;
  } catch (error) {
    const { reason, message } = failureOf(error);
    if (reason === 'internal') throw error;
    await logMissingRights(reason, target);
    remark(`${reason}: ${message}`);
    return 2;
  }
  const { drift, live, snapshot, candidate } = preview;
  const replaced = drift && live !== null ? await replacedAccess(live, candidate.text, snapshot) : null;
  print(
    json
      ? JSON.stringify({ ...previewForm(preview), access_replaced: replaced && replacedForm(replaced) })
      : previewText(preview, replaced),
  );
  return preview.would === 'refused' ? 1 : 0;
}

function previewText({ would, candidate, diff, drift }: Preview, replaced: ReplacedAccess | null): string {
  const { rules, bytes, findings, access } = candidate;
  return [
    `the next run would ${WOULD[would]}: ${rules} rules, ${bytes} bytes`,
    ...(drift ? ['  the live rules have been edited by hand, or are not of Grantline'] : []),
    ...diff.removed.map((rule) => `- ${rule}`),
    ...diff.added.map((rule) => `+ ${rule}`),
    ...(access === null ? [] : accessLines(access)),
    ...(replaced === null ? [] : replacedLines(replaced)),
    ...findings.map(findingText),
  ].join('\n');
}

const WOULD: Record<Preview['would'], string> = {
  publish: 'publish',
  no_change: 'change nothing',
  refused: 'be refused',
};
