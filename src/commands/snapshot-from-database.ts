import { PublishingModule } from '../acl-sync/publishing.module.js';
import { SnapshotFilesModule } from '../grants/grants.module.js';
import { appliedForm, type AppliedForm, SnapshotFilesService } from '../grants/snapshot-files.service.js';
import { Settings } from '../platform/settings/settings.js';
import { fileFailure } from './file-failure.js';
import { remark, withProgress } from './output.js';
import type { StructuredFile } from './structured-file.js';
import { withModules } from './with-modules.js';

const MODULES = [PublishingModule, SnapshotFilesModule];

/** @param write with the mode that the settings have for files */
export function exportFromDatabase(write: (file: unknown, mode: number) => Promise<number>): Promise<number> {
  return withModules('snapshot export', MODULES, async (modules) => {
    const file = await withProgress('exporting', modules.get(SnapshotFilesService, { strict: false }).export());
    return write(file, modules.get(Settings).acl.fileMode);
  });
}

/** @throws Error that says what became of the changes */
export function applyToDatabase(
  path: string,
  { value, isLarge }: StructuredFile,
  options: { dryRun: boolean; prune: boolean },
): Promise<AppliedForm> {
  return withModules('snapshot apply', MODULES, async (modules) => {
    const by = { actor: null, origin: null };
    let progress = 'reading what is recorded';
    if (isLarge) remark(`${path}: comparing it with what is recorded`);
    const applying = modules
      .get(SnapshotFilesService, { strict: false })
      .apply(value, options, by, (line) => (progress = line));
    const applied = await withProgress(() => progress, applying).catch((error: unknown) => {
      throw fileFailure(path, error, 'apply');
    });
    return appliedForm(applied);
  });
}
