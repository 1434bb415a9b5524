import { accessLines } from '../acl-sync/domain/access-text.js';
import { reasonsOf, type RunOutcome, type ShownRun } from '../acl-sync/domain/publication.js';
import { findingLines, runLines, type statusForm } from '../acl-sync/domain/run-text.js';
import type { Preview } from '../acl-sync/preview.service.js';
import type { Finding } from '../trino-rules/document/finding.js';
import { print, printJson } from './output.js';

const EXIT_CODES: Record<RunOutcome['kind'], number> = { applied: 0, no_change: 0, refused: 1, failed: 2 };

/** Prints how a run ended. @returns the exit code */
export function printRun(run: ShownRun, json: boolean, liveState?: Parameters<typeof runLines>[1]): number {
  if (json) printJson(runForm(run));
  else print(runLines(run, liveState));
  return EXIT_CODES[run.kind];
}

/** A run with the API's field names, and with only some fields of its publication. Includes failed runs, which are errors in the API. */
function runForm(run: ShownRun): object {
  const publication = run.kind === 'failed' ? null : run.publication;
  return {
    outcome: run.kind,
    publication: publication && {
      version: publication.version,
      hash: publication.hash,
      rules: publication.rules,
      bytes: publication.bytes,
    },
    awaits: run.kind === 'refused' ? run.awaits : null,
    reasons: reasonsOf(run),
  };
}

export function printPreview(preview: Preview, json: boolean): number {
  if (json) printJson(preview);
  else print(previewLines(preview));
  return preview.would === 'refused' ? 1 : 0;
}

function previewLines({ would, rules, bytes, diff, checks, drift }: Preview): string[] {
  return [
    `the next run would ${OUTCOME_TEXTS[would]}: ${rules} rules, ${bytes} bytes`,
    ...(drift ? ['  the live rules have been edited by hand, or are not of Grantline'] : []),
    ...diff.rules.removed.map((rule) => `- ${rule}`),
    ...diff.rules.added.map((rule) => `+ ${rule}`),
    ...(diff.access === null ? [] : accessLines(diff.access)),
    ...checks.flatMap(findingLines),
  ];
}

const OUTCOME_TEXTS: Record<Preview['would'], string> = {
  publish: 'publish',
  no_change: 'change nothing',
  refused: 'be refused',
};

/** The status. Only a running service gives `open_catalogs`, because it asks the engine for its catalogs. */
type StatusForm = ReturnType<typeof statusForm> & { open_catalogs?: Finding[] };

/** The fields of a version that a line shows, with the API's names. */
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
  /** Newest first. */
  versions: ShownVersion[];
}

export function versionText({ version, hash, rules, restored, ...publication }: ShownVersion): string {
  const withdrawalText = publication.is_withdrawal ? ', revokes alone' : '';
  const kindText = restored === null ? withdrawalText : `, restored version ${restored.version}`;
  return `${`version ${version}`.padEnd(20)}${hash.slice(0, 6)}, ${publication.published_at}: ${rules} rules${kindText}`;
}

export function statusLines(status: StatusForm): string[] {
  const { published, live, drift, waiting_for_approval: waitingChange } = status;
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
    ['waits for approval', waitingChange && `${waitingChange.hash}, since ${waitingChange.since}`],
  ];
  const { targets, instances = [], canary } = status;
  if (targets.length > 1)
    for (const { kind, name, published: publishedHash, live: liveHash, error } of targets) {
      const liveText = kind === 'opa' ? [`live ${liveHash ?? 'not known'}`] : [];
      lines.push([name, [publishedHash ?? 'nothing', ...liveText, ...(error === null ? [] : [error])].join('  ')]);
    }
  for (const { instance, revision, last_seen_at: lastSeenAt, errors } of instances)
    lines.push([instance, [revision ?? 'no bundle', `seen ${lastSeenAt}`, ...errors].join('  ')]);
  if (canary !== undefined)
    lines.push([
      'canary',
      canary === null ? 'no engine was asked: live by reports alone' : `${canary.answer ?? 'no answer'}, ${canary.at}`,
    ]);
  const shownLines = lines.map(([name, value]) => `${name.padEnd(20)}${value ?? '-'}`);
  const brokenLines = status.broken_guarantees.map(
    ({ name, since, message }) => `  ${name}: broken since ${since}: ${message}`,
  );
  const findings = [...status.last_reasons, ...(status.open_catalogs ?? [])];
  return [...shownLines, ...brokenLines, ...findings.flatMap(findingLines)];
}
