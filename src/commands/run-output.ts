import { accessLines } from '../acl-sync/domain/access-text.js';
import { reasonsOf, type RunOutcome, type ShownRun } from '../acl-sync/domain/publication.js';
import { findingLines, runLines, type statusForm } from '../acl-sync/domain/run-text.js';
import type { Preview } from '../acl-sync/preview.service.js';
import type { Finding } from '../trino-rules/document/finding.js';
import { print, printJson } from './output.js';

const EXIT: Record<RunOutcome['kind'], number> = { applied: 0, no_change: 0, refused: 1, failed: 2 };

/** Prints how a run ended. @returns the exit code */
export function printRun(run: ShownRun, json: boolean, live?: Parameters<typeof runLines>[1]): number {
  if (json) printJson(runForm(run));
  else print(runLines(run, live));
  return EXIT[run.kind];
}

/** A run with the API's field names, with only part of the publication's fields. Unlike in the API, a failed run is an answer too. */
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

/** Prints what a run would do. @returns the exit code */
export function printPreview(preview: Preview, json: boolean): number {
  if (json) printJson(preview);
  else print(previewLines(preview));
  return preview.would === 'refused' ? 1 : 0;
}

function previewLines({ would, rules, bytes, diff, checks, drift }: Preview): string[] {
  return [
    `the next run would ${WOULD[would]}: ${rules} rules, ${bytes} bytes`,
    ...(drift ? ['  the live rules have been edited by hand, or are not of Grantline'] : []),
    ...diff.rules.removed.map((rule) => `- ${rule}`),
    ...diff.rules.added.map((rule) => `+ ${rule}`),
    ...(diff.access === null ? [] : accessLines(diff.access)),
    ...checks.flatMap(findingLines),
  ];
}

const WOULD: Record<Preview['would'], string> = {
  publish: 'publish',
  no_change: 'change nothing',
  refused: 'be refused',
};

type OwnStatus = ReturnType<typeof statusForm>;

/** `open_catalogs` comes from a running service only, which asks the engine for its catalogs; older services have no guarantees. */
type StatusForm = Omit<OwnStatus, 'broken_guarantees'> &
  Partial<Pick<OwnStatus, 'broken_guarantees'>> & { open_catalogs?: Finding[] };

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

/** A line about a published version. */
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
  const broken = (status.broken_guarantees ?? []).map(
    ({ name, since, message }) => `  ${name}: broken since ${since}: ${message}`,
  );
  return [...shown, ...broken, ...[...status.last_reasons, ...(status.open_catalogs ?? [])].flatMap(findingLines)];
}
