import { planLine } from '../grants/domain/snapshot-changes.js';
import type { AppliedForm } from '../grants/snapshot-files.service.js';
import { print, printDocument, printJson, remark, withProgress } from './output.js';
import type { RemoteOptions } from '../platform/settings/settings-loader.js';
import { LONG_DEADLINE, type RemoteService, remoteService } from './remote-service.js';
import { writeResult } from './files.js';
import { formatNamed, problemLines, readStructured, structuredText } from './structured-file.js';

const ROUTE = '/api/admin/snapshot';
/** The mode of written files if the service's settings are not known. */
const FILE_MODE = 0o640;

// Imported only when needed, because loading the service's modules takes longer than a request to a running service.
const fromDatabase = () => import('./from-database.js');

interface ExportOptions extends RemoteOptions {
  format?: 'json' | 'yaml';
  out?: string;
}

/** Writes live access as a snapshot file: principals by name, no ids or settings, ordered by content. */
export async function exportSnapshotFile({ format, out, ...remote }: ExportOptions): Promise<number> {
  const write = async (file: unknown, mode: number): Promise<number> => {
    const text = structuredText(file, format ?? formatNamed(out));
    if (out === undefined) printDocument(text);
    else await writeResult(out, `${text}\n`, mode);
    return 0;
  };
  const service = remoteService(remote);
  if (service !== null) return write(await withProgress('exporting', service.get(ROUTE, {}, LONG_DEADLINE)), FILE_MODE);
  return (await fromDatabase()).exportFromDatabase(write);
}

interface ApplyOptions extends RemoteOptions {
  dryRun?: true;
  prune?: true;
  json?: true;
}

/**
 * Applies a snapshot file. Exit code 0: applied, or no change; 1: refused, or a dry run with changes; 2: it cannot be read, or the
 * database cannot be reached.
 */
export async function applySnapshotFile(
  path: string,
  { dryRun, prune, json, ...remote }: ApplyOptions,
): Promise<number> {
  const snapshot = readStructured(path);
  const service = remoteService(remote);
  const applied = await (service === null
    ? (await fromDatabase()).applyToDatabase(path, snapshot, { dryRun: dryRun === true, prune: prune === true })
    : applyThere(service, path, { snapshot, dry_run: dryRun === true, prune: prune === true }));
  if (json) printJson(applied);
  else printApplied(applied, path);
  return applied.outcome === 'refused' || applied.outcome === 'planned' ? 1 : 0;
}

function applyThere(
  service: RemoteService,
  path: string,
  body: { snapshot: unknown; dry_run: boolean; prune: boolean },
): Promise<AppliedForm> {
  return withProgress('applying', service.post<AppliedForm>(ROUTE, body)).catch(async (error: unknown) => {
    throw (await fromDatabase()).fileFailure(path, error, 'apply');
  });
}

function printApplied({ outcome, plan, problems, remarks, warnings }: AppliedForm, path: string): void {
  problemLines(path, [...problems, ...remarks]).forEach(remark);
  if (outcome === 'refused') return;
  for (const warning of warnings) remark(warning);
  print([...plan.map(planLine), SUMMARIES[outcome](plan.length)]);
}

const SUMMARIES = {
  applied: (changes: number) => `applied: ${changes} ${changes === 1 ? 'change' : 'changes'}`,
  planned: (changes: number) => `would apply: ${changes} ${changes === 1 ? 'change' : 'changes'}`,
  no_change: () => 'no change',
};
