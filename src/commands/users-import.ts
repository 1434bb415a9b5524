import { PublishingModule } from '../acl-sync/publishing.module.js';
import { planLine, type PlanStep } from '../grants/domain/snapshot-plan.js';
import { SnapshotFilesModule } from '../grants/snapshot-files.module.js';
import { type Imported, UserImportService } from '../grants/user-import.service.js';
import { fileFailure } from './file-failure.js';
import { print, printable, remark, remarkPlaced, withProgress } from './output.js';
import { readPeople, readUserList } from './users-file.js';
import { withModules } from './with-modules.js';

interface Options {
  dryRun?: true;
  json?: true;
}

/**
 * Makes accounts without passwords for a list, and fills groups with them. Exit code 0: done, or nothing to do; 1: refused, or a dry
 * run with changes; 2: the file cannot be read, or the database cannot be reached.
 */
export async function importUsers(path: string, { dryRun, json }: Options): Promise<number> {
  const list = readUserList(path);
  if (list === null) return 2;
  const entries = readPeople(list);
  return withModules(
    'users import',
    (settings) => SnapshotFilesModule.with(PublishingModule.with(settings)),
    async (modules) => {
      const by = { actor: null, origin: null };
      let progress = 'reading what is recorded';
      const imported = await withProgress(
        () => progress,
        modules
          .get(UserImportService, { strict: false })
          .import(entries, { dryRun: dryRun === true }, by, (line) => (progress = line)),
      ).catch((error: unknown) => {
        throw fileFailure(path, error, 'import');
      });
      if (json) print(JSON.stringify(importedForm(imported)));
      else printImported(imported, path);
      return imported.kind === 'refused' || imported.kind === 'planned' ? 1 : 0;
    },
  );
}

function importedForm(imported: Imported): object {
  const { kind: outcome, ...rest } = imported;
  return { outcome, plan: [], problems: [], remarks: [], warnings: [], ...rest };
}

function printImported(imported: Imported, path: string): void {
  const lines = imported.kind === 'refused' ? imported.problems : imported.remarks;
  remarkPlaced(
    path,
    lines.map(({ line, message }) => ({ line: line ?? 1, column: 1, message })),
  );
  if (imported.kind === 'refused') return;
  for (const warning of imported.warnings) remark(warning);
  const { kind, plan } = imported;
  const summary =
    kind === 'no_change' ? 'no change' : `${kind === 'planned' ? 'would import' : 'imported'}: ${countsText(plan)}`;
  print([...plan.map((step) => printable(planLine(step))), summary].join('\n'));
}

function countsText(plan: readonly PlanStep[]): string {
  const count = (of: PlanStep['kind'], one: string): string => {
    const { length } = plan.filter(({ kind }) => kind === of);
    return `${length} ${one}${length === 1 ? '' : 's'}`;
  };
  return [count('user', 'account'), count('group', 'group'), count('member', 'membership')].join(', ');
}
