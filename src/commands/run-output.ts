import { accessLines } from '../acl-sync/domain/access-text.js';
import { reasonsOf, type RunOutcome, type ShownRun } from '../acl-sync/domain/publication.js';
import { findingLines, runLines } from '../acl-sync/domain/run-text.js';
import type { previewForm } from '../acl-sync/preview.service.js';
import { print, printJson } from './output.js';

const EXIT: Record<RunOutcome['kind'], number> = { applied: 0, no_change: 0, refused: 1, failed: 2 };

/** Prints how a run ended. @returns the exit code */
export function printRun(run: ShownRun, json: boolean, live?: Parameters<typeof runLines>[1]): number {
  if (json) printJson(runForm(run));
  else print(runLines(run, live));
  return EXIT[run.kind];
}

/** As the API names things; of the publication no more than fits a line, and a failure is an answer here. */
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

export type PreviewForm = ReturnType<typeof previewForm>;

/**
 * Prints what a run would do.
 * @param replaced what is replaced of rules that were edited by hand: as JSON and in lines
 * @returns the exit code
 */
export function printPreview(preview: PreviewForm, json: boolean, replaced: { form: object; lines: string[] }): number {
  if (json) printJson({ ...preview, ...replaced.form });
  else print(previewLines(preview, replaced.lines));
  return preview.would === 'refused' ? 1 : 0;
}

function previewLines(
  { would, rules, bytes, diff, checks, drift }: PreviewForm,
  replaced: readonly string[],
): string[] {
  return [
    `the next run would ${WOULD[would]}: ${rules} rules, ${bytes} bytes`,
    ...(drift ? ['  the live rules have been edited by hand, or are not of Grantline'] : []),
    ...diff.rules.removed.map((rule) => `- ${rule}`),
    ...diff.rules.added.map((rule) => `+ ${rule}`),
    ...(diff.access === null ? [] : accessLines(diff.access)),
    ...replaced,
    ...checks.flatMap(findingLines),
  ];
}

const WOULD: Record<PreviewForm['would'], string> = {
  publish: 'publish',
  no_change: 'change nothing',
  refused: 'be refused',
};
