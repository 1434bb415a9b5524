import type { ShownPublication } from '../acl-sync/domain/publication.js';
import type { Preview } from '../acl-sync/preview.service.js';
import type { RemoteOptions } from '../platform/settings/settings-loader.js';
import type { Finding } from '../trino-rules/document/finding.js';
import { print, printJson, withProgress } from './output.js';
import { type RemoteService, remoteService } from './remote-service.js';
import { printPreview, printRun, type ShownStatus, statusLines, versionText } from './run-output.js';

// Imported only when needed, because loading the service's modules takes longer than a request to a running service.
const loadDatabaseCommands = () => import('./from-database.js');

/** The answer of `POST /api/admin/acl/sync`. */
interface RunAnswer {
  outcome: 'applied' | 'no_change' | 'refused';
  publication: ShownPublication | null;
  awaits: string | null;
  reasons: Finding[];
}

interface Options extends RemoteOptions {
  dryRun?: true;
  json?: true;
}

/** Runs the sync once. Exit code 0: published, or nothing to change; 1: refused by a check; 2: the target failed or another run is active. */
export async function syncRules({ dryRun, json, ...remoteOptions }: Options): Promise<number> {
  const service = remoteService(remoteOptions);
  const flags = [dryRun === true, json === true] as const;
  if (service !== null) return syncRemotely(service, ...flags);
  return (await loadDatabaseCommands()).syncFromDatabase(...flags);
}

async function syncRemotely(service: RemoteService, dryRun: boolean, json: boolean): Promise<number> {
  if (dryRun) {
    const preview = service.post<Preview>('/api/admin/acl/preview');
    return printPreview(await withProgress('compiling and checking', preview), json);
  }
  const run = service.post<RunAnswer>('/api/admin/acl/sync');
  const { outcome: kind, publication, awaits, reasons } = await withProgress('the run is under way', run);
  if (kind === 'refused') return printRun({ kind, publication, awaits, reasons }, json);
  if (publication === null) throw new Error('the service answers without a publication');
  return printRun({ kind, publication, reasons }, json);
}

const MAX_SHOWN_VERSIONS = 5;

/** Prints the state of publishing, as in `GET /api/admin/acl/status`. */
export async function showStatus({ json, ...remoteOptions }: RemoteOptions & { json?: true }): Promise<number> {
  const service = remoteService(remoteOptions);
  const { status, versions } = await (service === null
    ? (await loadDatabaseCommands()).statusFromDatabase(MAX_SHOWN_VERSIONS)
    : statusOf(service));
  if (json) printJson(status);
  else print([...statusLines(status), ...versions.map(versionText)]);
  return 0;
}

async function statusOf(service: RemoteService): Promise<ShownStatus> {
  const limit = String(MAX_SHOWN_VERSIONS);
  const { items } = await service.get<{ items: ShownStatus['versions'] }>('/api/admin/acl/publications', { limit });
  return { status: await service.get('/api/admin/acl/status'), versions: items };
}
