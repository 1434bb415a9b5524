import { createHash } from 'node:crypto';
import type { AccessChange } from '../../trino-rules/diff/access-change.js';
import { type Finding, isError } from '../../trino-rules/document/finding.js';
import { type Candidate, isRefused } from './candidate.js';
import type { WithdrawalOrder } from './prepared-withdrawal.js';
import type { Edit, Publication, RunOutcome } from './publication.js';
import { contradiction, isSameRestore, lastingRestore, type Restore, restoredFinding } from './restore.js';
import type { LiveRules } from './rules-target.js';
import { DATABASE_BEHIND, UNEXPLAINED } from './unexplained-change.js';

/**
 * What a run decides on: the target and the history, read anew before each decision, and the texts that it has made so far. What
 * target and engine hold against a text is among its findings.
 */
export interface Situation {
  live: Pick<LiveRules, 'text'>;
  latest: LatestVersion | null;
  now: Date;
  reading: Pick<Publication, 'snapshotHash' | 'compiler'>;
  /** Null: nothing was compiled yet. */
  candidate: Candidate | null;
  /** The text of the found version that the candidate was measured from; null: from none. */
  foundText: string | null;
  /** Null: nothing was published before that it could be made from. Undefined: it was not made yet. */
  withdrawal: Candidate | null | undefined;
  /** The restore that was ordered or is in effect; null: none. */
  restoring: Restoring | null;
}

export type LatestVersion = Pick<
  Publication,
  'version' | 'text' | 'snapshotHash' | 'compiler' | 'isWithdrawal' | 'isFound' | 'restored' | 'brokenAt'
>;

/** An older version that takes the place of what the grants say, as long as it gives no more. */
export interface Restoring {
  restore: Restore;
  /** By the request that this run is for; false: by an earlier one. */
  isOrdered: boolean;
  text: Pick<Candidate, 'text' | 'hash' | 'rules' | 'bytes' | 'findings'>;
  /** By `comparisonKey`. */
  comparisons: ReadonlyMap<string, Comparison>;
}

/** What the restored text changes. */
export interface Comparison {
  /** Against the text that would be published in its place. */
  fromIntent: AccessChange;
  /** Against the text that was published last; null: not asked for. */
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
  | Compare
  | { kind: 'refuse'; refusal: Refusal }
  | Keep
  | Publish;

export interface Compare {
  kind: 'compare';
  intent: Candidate;
  restoring: Restoring;
}

export interface Keep {
  kind: 'keep';
  /** The restore that it stays for; null: none. */
  restore: Restore | null;
  /** The run is refused nevertheless; null: it is not. */
  refusal: Refusal | null;
}

export interface Publish extends Pick<Keep, 'restore' | 'refusal'> {
  kind: 'publish';
  next: Candidate;
  /** `next` is what recorded changes leave of the version before. */
  isWithdrawal: boolean;
  /** False: the text is live already, and only the history lacks it. */
  isWritten: boolean;
  /** The edit by hand that it overwrites; null: none. */
  edit: Edit | null;
}

/** Candidate, the withdrawal where that is refused, or the restored version in place of either (docs/sync-run.md). */
export function decide(situation: Situation): Decision {
  const { candidate, withdrawal, latest, restoring } = situation;
  if (candidate === null && isUpToDate(situation))
    return { kind: 'keep', restore: restoring?.restore ?? null, refusal: null };
  const isMeasuredFromLatest = latest?.isFound !== true || latest.text === situation.foundText;
  if (candidate === null || !isMeasuredFromLatest) return { kind: 'prepare' };
  if (!isRefused(candidate)) return decideRestore(candidate, null, situation);
  const refusal = refusalOf(candidate);
  if (withdrawal === undefined) {
    // Nobody doubts the grants where only the engine refused their rules.
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
  const contradicted = change && contradiction(restore, change.fromIntent);
  const reasons = contradicted ? [...objections, contradicted] : objections;
  if (reasons.length === 0) {
    const restored = inPlaceOf(intent, text, change?.fromPublished ?? null);
    return decideWrite(restored, { restore, refusal: isOrdered ? null : refusal }, situation);
  }
  if (isOrdered) return { kind: 'refuse', refusal: { reasons, awaits: null } };
  return decideWrite(intent, { restore: null, refusal }, situation);
}

/** The older text, with everything else from the text in whose place it is published. */
function inPlaceOf(intent: Candidate, older: Restoring['text'], access: AccessChange | null): Candidate {
  const { text, hash, rules, bytes, findings } = older;
  return { ...intent, text, hash, rules, bytes, findings, access, changedAt: null };
}

function decideWrite(
  next: Candidate,
  because: Pick<Keep, 'restore' | 'refusal'>,
  situation: Situation,
): Keep | Publish {
  const { live, latest } = situation;
  const { restore, refusal } = because;
  // A found version is taken over as one of this database's, unless the run is refused.
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
    latest.restored === null ? !latest.isWithdrawal && !latest.isFound : lastingRestore(latest, now) !== null;
  return (
    isSettled &&
    latest.brokenAt === null &&
    latest.text === live.text &&
    latest.snapshotHash === reading.snapshotHash &&
    latest.compiler === reading.compiler
  );
}

/** The only place where findings become a refusal. */
function refusalOf({ findings, hash }: Pick<Candidate, 'findings' | 'hash'>): Refusal {
  const reasons = findings.filter(isError);
  const canBeApproved = reasons.every(({ code }) => code === UNEXPLAINED || code === DATABASE_BEHIND);
  return { reasons, awaits: canBeApproved ? hash : null };
}

/** A text on which the engine failed is not published again: it fails every statement of every user. */
export const BROKEN_FINDING: Finding = {
  code: 'rules-broken',
  severity: 'error',
  message:
    'the engine could not use these very rules when they were published; they are not published again until grants, policies, settings or the compiler make others',
};

/** What a comparison with a restored text is about. */
export function comparisonKey({ hash }: Pick<Candidate, 'hash'>, latest: Pick<Publication, 'version'> | null): string {
  return `${hash} ${latest?.version}`;
}

/** The live text, where it is not what was published last: an edit by hand. Null: it is, or it is the very candidate. */
export function editIn({ live: { text }, latest, candidate }: Situation): Edit | null {
  if (candidate === null || text === (latest?.text ?? null)) return null;
  if (text === candidate.text && !isRefused(candidate)) return null;
  return { textHash: text === null ? null : createHash('sha256').update(text).digest('hex') };
}

/** @param isNew this run has published it */
export function outcomeOf(
  { restore, refusal }: Pick<Keep, 'restore' | 'refusal'>,
  publication: Publication,
  isNew: boolean,
): RunOutcome {
  if (refusal !== null) return { kind: 'refused', ...refusal, publication: isNew ? publication : null };
  const reasons = restore === null ? [] : [restoredFinding(restore)];
  return { kind: isNew ? 'applied' : 'no_change', publication, reasons };
}
