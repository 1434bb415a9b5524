import { statusForm } from '../acl-sync/domain/status-form.js';
import type { PublicationSummary } from '../acl-sync/domain/publication.js';
import { findingText } from '../acl-sync/domain/run-text.js';
import { StatusService } from '../acl-sync/status.service.js';
import { print } from './output.js';
import { withPublishing } from './run-report.js';

const VERSIONS_SHOWN = 5;

/** The state of publishing, as `GET /api/admin/acl/status`. */
export async function showStatus({ json }: { json?: true }): Promise<number> {
  return withPublishing('acl status', async (modules) => {
    const status = statusForm(await modules.get(StatusService).status());
    const { items } = await modules.get(StatusService).publications({ limit: VERSIONS_SHOWN, after: null });
    print(json ? JSON.stringify(status) : [statusText(status), ...items.map(versionText)].join('\n'));
    return 0;
  });
}

/** One that can be restored; the newest is what is published now. */
function versionText({ version, hash, publishedAt, rules, restored, isWithdrawal }: PublicationSummary): string {
  const kind = restored === null ? (isWithdrawal ? ', revokes alone' : '') : `, restored version ${restored.version}`;
  return `${`version ${version}`.padEnd(20)}${hash.slice(0, 6)}, ${publishedAt.toISOString()}: ${rules} rules${kind}`;
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
