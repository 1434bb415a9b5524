import { planLine } from '../grants/domain/snapshot-changes.js';
import type { AppliedForm } from '../grants/snapshot-files.service.js';
import { print, printDocument, printJson, printRemark, withProgress } from './output.js';
import type { RemoteOptions } from '../platform/settings/settings-loader.js';
import { LONG_DEADLINE_MS, type RemoteService, remoteService } from './remote-service.js';
import { writeResult } from './files.js';
import { formatOfFile, problemLines, readStructured, structuredText } from './structured-file.js';

const SNAPSHOT_ROUTE = '/api/admin/snapshot';
/** The mode of written files if the service's settings are not known. */
const FILE_MODE = 0o640;

// Imported only when needed, because loading the service's modules takes longer than a request to a running service.
const loadDatabaseCommands = () => import('./from-database.js');

interface ExportOptions extends RemoteOptions {
  format?: 'json' | 'yaml';
  out?: string;
}

/** Writes the recorded access as a snapshot file: principals by name, no ids or settings, ordered by content. */
export async function exportSnapshotFile({ format, out, ...remoteOptions }: ExportOptions): Promise<number> {
  const writeSnapshot = async (snapshotFile: unknown, fileMode: number): Promise<number> => {
    const text = structuredText(snapshotFile, format ?? formatOfFile(out));
    if (out === undefined) printDocument(text);
    else await writeResult(out, `${text}\n`, fileMode);
    return 0;
  };
  const service = remoteService(remoteOptions);
  if (service !== null)
    return writeSnapshot(await withProgress('exporting', service.get(SNAPSHOT_ROUTE, {}, LONG_DEADLINE_MS)), FILE_MODE);
  return (await loadDatabaseCommands()).exportFromDatabase(writeSnapshot);
}

interface ApplyOptions extends RemoteOptions {
  dryRun?: true;
  prune?: true;
  json?: true;
}

/**
 * Applies a snapshot file. Exit code 0: applied, or no change; 1: refused, or a dry run with changes; 2: the file cannot be read, or the
 * database cannot be reached.
 */
export async function applySnapshotFile(
  path: string,
  { dryRun, prune, json, ...remoteOptions }: ApplyOptions,
): Promise<number> {
  const snapshot = readStructured(path);
  const service = remoteService(remoteOptions);
  const options = { isDryRun: dryRun === true, mustPrune: prune === true };
  const result = await (service === null
    ? (await loadDatabaseCommands()).applyToDatabase(path, snapshot, options)
    : applyRemotely(service, path, { snapshot, dry_run: options.isDryRun, prune: options.mustPrune }));
  if (json) printJson(result);
  else printApplied(result, path);
  return result.outcome === 'refused' || result.outcome === 'planned' ? 1 : 0;
}

function applyRemotely(
  service: RemoteService,
  path: string,
  body: { snapshot: unknown; dry_run: boolean; prune: boolean },
): Promise<AppliedForm> {
  return withProgress('applying', service.post<AppliedForm>(SNAPSHOT_ROUTE, body)).catch(async (error: unknown) => {
    throw (await loadDatabaseCommands()).fileFailure(path, error, 'apply');
  });
}

function printApplied({ outcome, plan, problems, remarks, warnings }: AppliedForm, path: string): void {
  problemLines(path, [...problems, ...remarks]).forEach(printRemark);
  if (outcome === 'refused') return;
  for (const warning of warnings) printRemark(warning);
  print([...plan.map(planLine), SUMMARIES[outcome](plan.length)]);
}

const SUMMARIES = {
  applied: (changeCount: number) => `applied: ${changeCount} ${changeCount === 1 ? 'change' : 'changes'}`,
  planned: (changeCount: number) => `would apply: ${changeCount} ${changeCount === 1 ? 'change' : 'changes'}`,
  no_change: () => 'no change',
};
