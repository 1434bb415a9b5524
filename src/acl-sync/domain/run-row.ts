import type { AuditContext } from '../../audit/domain/audit-event.js';
import type { UnreportedPublication } from './publication-history.js';
import {
  type Drift,
  type Edit,
  type Publication,
  reasonsOf,
  type Run,
  type RunEnding,
  type RunOrder,
} from './publication.js';

/** A run that ended. */
export interface EndedRun extends Pick<RunOrder, 'trigger' | 'by' | 'restore'>, RunEnding {
  startedAt: Date;
}

/** The row of the run in the history. */
export function runRow(ended: EndedRun, last: Run | null): Run {
  const { trigger, by, outcome, startedAt: at, restore } = ended;
  const [drift, waiting] = [driftOf(ended, last), waitingAfter(ended, last)];
  return {
    at,
    trigger,
    triggeredBy: by.actor && { id: by.actor.id, name: by.actor.username },
    outcome: outcome.kind,
    isRestore: restore !== undefined,
    reasons: reasonsOf(outcome),
    drift,
    waiting,
  };
}

/** Edits by hand that no run has reported: of this run, and of those that died after they had overwritten one. */
export function newEdits(
  ended: EndedRun,
  unreported: readonly UnreportedPublication[],
  last: Run | null,
): (Edit & { overwritten: boolean; by: AuditContext })[] {
  const own = publishedBy(ended);
  const found = unreported.flatMap(({ publication }) =>
    publication.edit === null || publication.version === own?.version
      ? []
      : { ...publication.edit, overwritten: true, by: actorOf(publication, ended) },
  );
  if (ended.edit !== null) found.push({ ...ended.edit, overwritten: own !== null, by: ended.by });
  const known = knownEdit(last);
  return found.filter(({ textHash }) => known?.textHash !== textHash);
}

/** The version that the run has published; null: none. */
function publishedBy({ outcome }: EndedRun): Publication | null {
  return outcome.kind === 'applied' || outcome.kind === 'refused' ? outcome.publication : null;
}

/** Of a version whose run died, only the account is known. */
export function actorOf({ version, triggeredBy }: Publication, ended: EndedRun): AuditContext {
  if (version === publishedBy(ended)?.version) return ended.by;
  return { actor: triggeredBy && { id: triggeredBy.id, username: triggeredBy.name }, origin: null };
}

/** An edit that the run before found, and that is still there. */
function knownEdit(last: Run | null): Drift | null {
  return last?.drift?.overwritten === false ? last.drift : null;
}

/** An edit that the run before found already keeps its time; a publication has overwritten any earlier one. */
function driftOf(ended: EndedRun, last: Run | null): Drift | null {
  const { edit, startedAt, outcome } = ended;
  const known = knownEdit(last);
  // A failed run could not read the live text.
  if (edit === null) return outcome.kind === 'failed' ? known : null;
  const foundAt = known?.textHash === edit.textHash ? known.foundAt : startedAt;
  return { ...edit, foundAt, overwritten: publishedBy(ended) !== null };
}

/**
 * A change waits until a run does not refuse it; `since`: the first of those runs, even if the text changed meanwhile. A failed run
 * and the request for a restore leave the pending approval unchanged.
 */
function waitingAfter({ outcome, startedAt, restore }: EndedRun, last: Run | null): Run['waiting'] {
  const known = last?.waiting ?? null;
  if (outcome.kind === 'failed' || restore !== undefined) return known;
  if (outcome.kind !== 'refused' || outcome.awaits === null) return null;
  return { hash: outcome.awaits, since: known?.since ?? startedAt, reasons: outcome.reasons };
}

/** Whether both ended in the same way, for the same reasons. */
export function endedAlike(run: Run, last: Run | null): boolean {
  const key = ({ outcome, reasons }: Run) =>
    JSON.stringify([outcome, reasons.map(({ code, message }) => [code, message])]);
  return last !== null && key(last) === key(run);
}
