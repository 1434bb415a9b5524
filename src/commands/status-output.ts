import { findingLines, type statusForm } from '../acl-sync/domain/run-text.js';
import type { Finding } from '../trino-rules/document/finding.js';

/** Only a service that runs has asked the engine for its catalogs. */
type StatusForm = ReturnType<typeof statusForm> & { open_catalogs?: Finding[] };

/** What a line tells of a version, in the names of the API. */
interface ShownVersion {
  version: number;
  hash: string;
  rules: number;
  published_at: string;
  is_withdrawal: boolean;
  restored: { version: number } | null;
}

export interface ShownStatus {
  status: StatusForm;
  /** The newest first. */
  versions: ShownVersion[];
}

/** One that can be restored; the newest is what is published now. */
export function versionText({ version, hash, rules, restored, ...publication }: ShownVersion): string {
  const withdrawn = publication.is_withdrawal ? ', revokes alone' : '';
  const kind = restored === null ? withdrawn : `, restored version ${restored.version}`;
  return `${`version ${version}`.padEnd(20)}${hash.slice(0, 6)}, ${publication.published_at}: ${rules} rules${kind}`;
}

export function statusLines(status: StatusForm): string[] {
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
  return [...shown, ...[...status.last_reasons, ...(status.open_catalogs ?? [])].flatMap(findingLines)];
}
