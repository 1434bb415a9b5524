import { PublishingModule } from '../acl-sync/publishing.module.js';
import { planLine } from '../grants/domain/snapshot-plan.js';
import { SnapshotFilesModule } from '../grants/snapshot-files.module.js';
import { type Applied, appliedForm, SnapshotFilesService } from '../grants/snapshot-files.service.js';
import { Settings } from '../platform/settings.js';
import { fileFailure } from './file-failure.js';
import { print, printable, remark, withProgress } from './output.js';
import { writeResult } from './result-file.js';
import { formatNamed, readStructured, reportProblems, structuredText } from './structured-file.js';
import { withModules } from './with-modules.js';

const MODULE = (settings: Settings) => SnapshotFilesModule.with(PublishingModule.with(settings));

interface ExportOptions {
  format?: 'json' | 'yaml';
  out?: string;
}

/** Writes what is live as a snapshot file: by name, without ids and settings, ordered by content. */
export async function exportSnapshotFile({ format, out }: ExportOptions): Promise<number> {
  return withModules('snapshot export', MODULE, async (modules) => {
    const file = await withProgress('exporting', modules.get(SnapshotFilesService, { strict: false }).export());
    const text = structuredText(file, format ?? formatNamed(out));
    if (out === undefined) print(text);
    else await writeResult(out, `${text}\n`, modules.get(Settings).acl.fileMode);
    return 0;
  });
}

interface ApplyOptions {
  dryRun?: true;
  prune?: true;
  json?: true;
}

/**
 * Applies a snapshot file. Exit code 0: applied, or no change; 1: refused, or a dry run with changes; 2: it cannot be read, or the
 * database cannot be reached.
 */
export async function applySnapshotFile(path: string, { dryRun, prune, json }: ApplyOptions): Promise<number> {
  const read = readStructured(path);
  if (read === null) return 2;
  return withModules('snapshot apply', MODULE, async (modules) => {
    const by = { actor: null, origin: null };
    const options = { dryRun: dryRun === true, prune: prune === true };
    let progress = 'reading what is recorded';
    if (read.isLarge) remark(`${path}: comparing it with what is recorded`);
    const applied = await withProgress(
      () => progress,
      modules.get(SnapshotFilesService, { strict: false }).apply(read.value, options, by, (line) => (progress = line)),
    ).catch((error: unknown) => {
      throw fileFailure(path, error, 'apply');
    });
    if (json) print(JSON.stringify(appliedForm(applied)));
    else printApplied(applied, path);
    return applied.kind === 'refused' || applied.kind === 'planned' ? 1 : 0;
  });
}

function printApplied(applied: Applied, path: string): void {
  if (applied.kind === 'refused') {
    reportProblems(path, applied.problems);
    return;
  }
  reportProblems(path, applied.remarks);
  for (const warning of applied.warnings) remark(warning);
  const lines = applied.plan.map((step) => printable(planLine(step)));
  print([...lines, SUMMARIES[applied.kind](applied.plan.length)].join('\n'));
}

const SUMMARIES = {
  applied: (changes: number) => `applied: ${changes} ${changes === 1 ? 'change' : 'changes'}`,
  planned: (changes: number) => `would apply: ${changes} ${changes === 1 ? 'change' : 'changes'}`,
  no_change: () => 'no change',
};
