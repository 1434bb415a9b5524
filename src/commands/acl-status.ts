import { print, printJson } from './output.js';
import type { RemoteOptions } from '../platform/settings/settings-loader.js';
import { type RemoteService, remoteService } from './remote-service.js';
import { type ShownStatus, statusLines, versionText } from './run-output.js';

const VERSIONS_SHOWN = 5;

/** The state of publishing, as `GET /api/admin/acl/status`. */
export async function showStatus({ json, ...remote }: RemoteOptions & { json?: true }): Promise<number> {
  const service = remoteService(remote);
  const { status, versions } = await (service === null ? recorded() : asked(service));
  if (json) printJson(status);
  else print([...statusLines(status), ...versions.map(versionText)]);
  return 0;
}

// Loads the service's modules, which takes longer than to ask a service.
async function recorded(): Promise<ShownStatus> {
  return (await import('./from-database.js')).statusFromDatabase(VERSIONS_SHOWN);
}

async function asked(service: RemoteService): Promise<ShownStatus> {
  const limit = String(VERSIONS_SHOWN);
  const { items } = await service.get<{ items: ShownStatus['versions'] }>('/api/admin/acl/publications', { limit });
  return { status: await service.get('/api/admin/acl/status'), versions: items };
}
