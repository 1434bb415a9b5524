import { createHash } from 'node:crypto';
import type { AccessChange } from '../../trino-rules/diff/access-change.js';
import { type Finding, isError } from '../../trino-rules/document/finding.js';
import { type Candidate, isRefused } from './candidate.js';
import type { WithdrawalOrder } from './prepared-withdrawal.js';
import type { Edit, Publication, RunOutcome } from './publication.js';
import { restoreContradiction, isSameRestore, restoreInEffect, type Restore, restoredFinding } from './restore.js';
import type { LiveRules } from './rules-target.js';
import { DATABASE_BEHIND, UNEXPLAINED } from './unexplained-change.js';

/**
 * The input of a decision: the target and the history, read again before each decision, and the texts made so far. The findings of a text
 * include objections of target and engine.
 */
export interface Situation {
  live: Pick<LiveRules, 'text'>;
  latest: LatestVersion | null;
  now: Date;
  reading: Pick<Publication, 'snapshotHash' | 'compiler'>;
  /** Null: nothing was compiled yet. */
  candidate: Candidate | null;
  /** The text of the found version with which the candidate was compared; null: none. */
  foundText: string | null;
  /** Null: nothing was published from which a withdrawal could be made. Undefined: it was not made yet. */
  withdrawal: Candidate | null | undefined;
  /** The restore that was ordered or is in effect; null: none. */
  restoring: Restoring | null;
}

export type LatestVersion = Pick<
  Publication,
  'version' | 'text' | 'snapshotHash' | 'compiler' | 'isWithdrawal' | 'isFound' | 'restored' | 'brokenAt'
>;

/** An older version that replaces the rules by the current grants, as long as it gives no more access. */
export interface Restoring {
  restore: Restore;
  /** Whether this run's own request ordered the restore; false: an earlier one did. */
  isOrdered: boolean;
  text: Pick<Candidate, 'text' | 'hash' | 'rules' | 'bytes' | 'findings'>;
  /** Comparisons by `comparisonKey`. */
  comparisons: ReadonlyMap<string, Comparison>;
}

/** The changes of access by the restored text. */
export interface Comparison {
  /** Against the text that would be published in its place. */
  fromIntent: AccessChange;
  /** Against the text that was published last; null: not requested. */
  fromPublished: AccessChange | null;
}

export interface Refusal {
  reasons: Finding[];
  /** Hash of the text whose approval would end the refusal; null: none would. */
  awaits: string | null;
}

/** What a run does next. The first three take seconds, after which the situation may be another. */
export type Decision =
  | { kind: 'prepare' }
  | { kind: 'withdraw'; changes: WithdrawalOrder['changes']; refusal: Refusal }
  | CompareDecision
  | { kind: 'refuse'; refusal: Refusal }
  | KeepDecision
  | PublishDecision;

export interface CompareDecision {
  kind: 'compare';
  intent: Candidate;
  restoring: Restoring;
}

export interface KeepDecision {
  kind: 'keep';
  /** The restore for which the published version stays; null: none. */
  restore: Restore | null;
  /** Why the run is refused all the same; null: it is not refused. */
  refusal: Refusal | null;
}

export interface PublishDecision extends Pick<KeepDecision, 'restore' | 'refusal'> {
  kind: 'publish';
  next: Candidate;
  /** Whether `next` is the version before without access that changes took away. */
  isWithdrawal: boolean;
  /** Whether the target is written; false: the text is live already, and only the history lacks it. */
  isWritten: boolean;
  /** The edit by hand that the publication overwrites; null: none. */
  edit: Edit | null;
}

/** Decides for the candidate, for the withdrawal if that is refused, or for the restored version instead of either (docs/sync-run.md). */
export function decide(situation: Situation): Decision {
  const { candidate, withdrawal, latest, restoring } = situation;
  if (candidate === null && isUpToDate(situation))
    return { kind: 'keep', restore: restoring?.restore ?? null, refusal: null };
  const isMeasuredFromLatest = latest?.isFound !== true || latest.text === situation.foundText;
  if (candidate === null || !isMeasuredFromLatest) return { kind: 'prepare' };
  if (!isRefused(candidate)) return decideRestore(candidate, null, situation);
  const refusal = refusalOf(candidate);
  if (withdrawal === undefined) {
    // If only the engine refused the rules, the grants themselves are right, so all changes count.
    const changes = refusal.reasons.every(({ code }) => code === BROKEN_FINDING.code) ? 'all' : 'recorded';
    return { kind: 'withdraw', changes, refusal };
  }
  if (withdrawal !== null && !isRefused(withdrawal)) return decideRestore(withdrawal, refusal, situation);
  const reasons = [...refusal.reasons, ...(withdrawal === null ? [] : refusalOf(withdrawal).reasons)];
  return { kind: 'refuse', refusal: { ...refusal, reasons } };
}

function decideRestore(intent: Candidate, refusal: Refusal | null, situation: Situation): Decision {
  const { latest, restoring } = situation;
  if (restoring === null) return decideWrite(intent, { restore: null, refusal }, situation);
  const { restore, isOrdered, text } = restoring;
  const objections = refusalOf(text).reasons;
  const change = restoring.comparisons.get(comparisonKey(intent, latest));
  if (change === undefined && objections.length === 0) return { kind: 'compare', intent, restoring };
  const contradicted = change && restoreContradiction(restore, change.fromIntent);
  const reasons = contradicted ? [...objections, contradicted] : objections;
  if (reasons.length === 0) {
    const restored = inPlaceOf(intent, text, change?.fromPublished ?? null);
    return decideWrite(restored, { restore, refusal: isOrdered ? null : refusal }, situation);
  }
  if (isOrdered) return { kind: 'refuse', refusal: { reasons, awaits: null } };
  return decideWrite(intent, { restore: null, refusal }, situation);
}

/** The older text, with all other fields of the candidate that it replaces. */
function inPlaceOf(intent: Candidate, older: Restoring['text'], access: AccessChange | null): Candidate {
  const { text, hash, rules, bytes, findings } = older;
  return { ...intent, text, hash, rules, bytes, findings, access, changedAt: null };
}

function decideWrite(
  next: Candidate,
  because: Pick<KeepDecision, 'restore' | 'refusal'>,
  situation: Situation,
): KeepDecision | PublishDecision {
  const { live, latest } = situation;
  const { restore, refusal } = because;
  // A found version is published again as a version of this database, unless the run is refused.
  const isKnown = latest !== null && (!latest.isFound || refusal !== null);
  const isWritten = live.text !== next.text;
  if (isKnown && !isWritten && latest.text === next.text && isSameRestore(latest, restore))
    return { kind: 'keep', ...because };
  const edit = isWritten ? editIn(situation) : null;
  return { kind: 'publish', ...because, next, isWithdrawal: refusal !== null && restore === null, isWritten, edit };
}

/**
 * Whether the published version is live and was compiled from an equal snapshot by the same compiler: then a run has nothing to
 * compile.
 */
function isUpToDate({ latest, live, reading, now, restoring }: Situation): boolean {
  if (latest === null || restoring?.isOrdered === true) return false;
  const isSettled =
    latest.restored === null ? !latest.isWithdrawal && !latest.isFound : restoreInEffect(latest, now) !== null;
  return (
    isSettled &&
    latest.brokenAt === null &&
    latest.text === live.text &&
    latest.snapshotHash === reading.snapshotHash &&
    latest.compiler === reading.compiler
  );
}

/** The refusal for a text's findings. */
function refusalOf({ findings, hash }: Pick<Candidate, 'findings' | 'hash'>): Refusal {
  const reasons = findings.filter(isError);
  const canBeApproved = reasons.every(({ code }) => code === UNEXPLAINED || code === DATABASE_BEHIND);
  return { reasons, awaits: canBeApproved ? hash : null };
}

/** Refuses a text on which the engine failed before, because it would fail every statement of every user. */
export const BROKEN_FINDING: Finding = {
  code: 'rules-broken',
  severity: 'error',
  message:
    'the engine could not use these very rules when they were published; they are not published again until grants, policies, settings or the compiler make others',
};

/** Key of a comparison with the restored text. */
export function comparisonKey({ hash }: Pick<Candidate, 'hash'>, latest: Pick<Publication, 'version'> | null): string {
  return `${hash} ${latest?.version}`;
}

/** The edit by hand in the live text. Null: the text is the one published last, or equals the candidate. */
export function editIn({ live: { text }, latest, candidate }: Situation): Edit | null {
  if (candidate === null || text === (latest?.text ?? null)) return null;
  if (text === candidate.text && !isRefused(candidate)) return null;
  return { textHash: text === null ? null : createHash('sha256').update(text).digest('hex') };
}

/** @param isNew whether this run has published the publication */
export function outcomeOf(
  { restore, refusal }: Pick<KeepDecision, 'restore' | 'refusal'>,
  publication: Publication,
  isNew: boolean,
): RunOutcome {
  if (refusal !== null) return { kind: 'refused', ...refusal, publication: isNew ? publication : null };
  const reasons = restore === null ? [] : [restoredFinding(restore)];
  return { kind: isNew ? 'applied' : 'no_change', publication, reasons };
}
