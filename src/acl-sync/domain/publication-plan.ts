import type { AccessChange } from '../../trino-rules/diff/access-change.js';
import { type Finding, isError } from '../../trino-rules/document/finding.js';
import { readRules } from '../../trino-rules/document/rules-reader.js';
import type { Candidate } from './candidate.js';
import type { Publication } from './publication.js';
import { lastingRestore } from './restore.js';
import type { LiveRules } from './rules-target.js';
import { DATABASE_BEHIND, UNEXPLAINED } from './unexplained-change.js';

/**
 * Whether the published version is live and was compiled from an equal snapshot by the same compiler: then a run has nothing to
 * compile.
 */
export function isUpToDate(
  latest: Publication,
  live: Pick<LiveRules, 'text'>,
  { snapshotHash, compiler }: Pick<Publication, 'snapshotHash' | 'compiler'>,
  now: Date,
): boolean {
  const isSettled =
    latest.restored === null ? !latest.isWithdrawal && !latest.isFound : lastingRestore(latest, now) !== null;
  return (
    isSettled &&
    latest.brokenAt === null &&
    latest.text === live.text &&
    latest.snapshotHash === snapshotHash &&
    latest.compiler === compiler
  );
}

/** What a run does with a candidate, given the live text. */
export type Plan =
  | { kind: 'publish'; drift: boolean }
  | { kind: 'no_change'; drift: false }
  | {
      kind: 'refused';
      reasons: Finding[];
      drift: boolean;
      /** Whether an approval of the candidate's text would end the refusal. */
      awaitsApproval: boolean;
    };

/**
 * Plans a publication; a preview shows the plan, a run carries it out. `drift`: the live text is not the one that was published
 * last, so it was edited by hand.
 */
export function planPublication(
  candidate: Pick<Candidate, 'text' | 'findings'>,
  live: Pick<LiveRules, 'text'>,
  published: Pick<Publication, 'text'> | null,
): Plan {
  const drift = live.text !== (published?.text ?? null);
  const reasons = candidate.findings.filter(isError);
  if (reasons.length > 0) {
    return {
      kind: 'refused',
      reasons,
      drift,
      awaitsApproval: reasons.every(({ code }) => code === UNEXPLAINED || code === DATABASE_BEHIND),
    };
  }
  return live.text === candidate.text ? { kind: 'no_change', drift: false } : { kind: 'publish', drift };
}

/**
 * The older text, with everything else from the candidate in whose place it is published.
 * @param intent the candidate
 * @param access the change against the last published text
 */
export function restoredCandidate(
  { text, hash, rules, bytes }: Publication,
  intent: Candidate,
  access: AccessChange | null,
): Candidate {
  return { ...intent, text, hash, rules, bytes, access, findings: [], changedAt: null };
}

/** A text on which the engine failed is not published again: it fails every statement of every user. */
export function withBrokenFinding(candidate: Candidate): Candidate {
  const message =
    'the engine could not use these very rules when they were published; they are not published again until grants, policies, settings or the compiler make others';
  return { ...candidate, findings: [...candidate.findings, { code: BROKEN, severity: 'error', message }] };
}

/**
 * Why a text of the history may not be written; null: it may. That of a version that was found at the target was never proved: where it
 * cannot be read, nothing tells what it gives, or whether the engine would load it.
 */
export function unreadableFinding({ text }: Pick<Candidate, 'text'>): Finding | null {
  if (readRules(text).kind === 'read') return null;
  const message =
    'the rules of the version that was found at the target cannot be read completely, so they are not published again';
  return { code: 'rules-unreadable', severity: 'error', message };
}

/** The only kind of refusal that leaves no doubt about the grants. */
export function isBrokenFinding({ code }: Finding): boolean {
  return code === BROKEN;
}

const BROKEN = 'rules-broken';
