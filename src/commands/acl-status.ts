import type { statusForm } from '../acl-sync/domain/status-form.js';
import { findingText } from '../acl-sync/domain/run-text.js';
import type { PublicationSummaryResponse } from '../acl-sync/publication.response.js';
import { print } from './output.js';
import { type RemoteOptions, type RemoteService, remoteService } from './remote-service.js';

const VERSIONS_SHOWN = 5;

export interface Shown {
  status: ReturnType<typeof statusForm>;
  /** The newest first. */
  versions: PublicationSummaryResponse[];
}

/** The state of publishing, as `GET /api/admin/acl/status`. */
export async function showStatus({ json, ...remote }: RemoteOptions & { json?: true }): Promise<number> {
  const service = remoteService(remote);
  const { status, versions } = await (service === null ? recorded() : asked(service));
  print(json ? JSON.stringify(status) : [statusText(status), ...versions.map(versionText)].join('\n'));
  return 0;
}

// Loads the service's modules, which takes longer than to ask a service.
async function recorded(): Promise<Shown> {
  return (await import('./status-from-database.js')).statusFromDatabase(VERSIONS_SHOWN);
}

async function asked(service: RemoteService): Promise<Shown> {
  const limit = String(VERSIONS_SHOWN);
  const { items } = await service.get<{ items: Shown['versions'] }>('/api/admin/acl/publications', { limit });
  return { status: await service.get('/api/admin/acl/status'), versions: items };
}

/** One that can be restored; the newest is what is published now. */
function versionText({ version, hash, rules, restored, ...publication }: PublicationSummaryResponse): string {
  const withdrawn = publication.is_withdrawal ? ', revokes alone' : '';
  const kind = restored === null ? withdrawn : `, restored version ${restored.version}`;
  return `${`version ${version}`.padEnd(20)}${hash.slice(0, 6)}, ${publication.published_at}: ${rules} rules${kind}`;
}

function statusText(status: ReturnType<typeof statusForm>): string {
  const { published, live, drift, waiting_for_approval: waiting } = status;
  const lines: [string, string | null][] = [
    ['target', status.target],
    ['last run', status.last_run_at && `${status.last_run_at}  ${status.last_outcome ?? ''}`],
    ['last success', status.last_success_at],
    [
      'published',
      published &&
        `version ${published.version} (${published.hash.slice(0, 6)}), ${published.at}: ${published.rules} rules, ${published.bytes} bytes`,
    ],
    ['live', live && `${live.hash.slice(0, 6)}, seen ${live.confirmed_at}`],
    ['refused since', status.refused_since],
    ['restored until', status.restored_until],
    ['edited by hand', drift && `${drift.found_at}, ${drift.overwritten ? 'overwritten' : 'still there'}`],
    ['waits for approval', waiting && `${waiting.hash}, since ${waiting.since}`],
  ];
  const shown = lines.map(([name, value]) => `${name.padEnd(20)}${value ?? '-'}`);
  return [...shown, ...status.last_reasons.map(findingText)].join('\n');
}
