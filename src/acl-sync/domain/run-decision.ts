import type { AccessChange } from '../../trino-rules/diff/access-change.js';
import { type Finding, isError } from '../../trino-rules/document/finding.js';
import { approvalHash, type Candidate, isRefused } from './candidate.js';
import { type FirstStep, MASKS_FIRST } from '../../trino-rules/transition/first-step.js';
import type { WithdrawalOrder } from './prepared-withdrawal.js';
import type { Edit, Publication, RunOutcome } from './publication.js';
import { restoreContradiction, isSameRestore, restoreInEffect, type Restore, restoredFinding } from './restore.js';
import type { LiveRules } from './rules-target.js';
import { hashOfText } from './target-state.js';
import { DATABASE_BEHIND_CODE, UNEXPLAINED_CODE } from './unexplained-change.js';

/** The input of a decision: the targets and the history, read anew for each decision, and the rules that this run has made. */
export interface Situation {
  /** The targets that could be read. */
  targets: readonly LiveTarget[];
  /** Whether OPA is a target, alone or beside others: it decides by the snapshot of the latest version. */
  isForOpa: boolean;
  latest: LatestVersion | null;
  now: Date;
  input: Pick<Publication, 'snapshotHash' | 'compiler'>;
  /** Null if nothing was compiled yet. */
  candidate: Candidate | null;
  /** The text with which the candidate was compared, if it came from a target and not from this database; else null. */
  foundText: string | null;
  /** Published in place of a refused candidate: the previous version without revoked access. Null: no previous version. Undefined: not made yet. */
  withdrawal: Candidate | null | undefined;
  /** The restore that was ordered or is in effect; null: none. */
  restoration: RestoreCandidate | null;
  /** The texts that statements on the engine may still use. */
  inUse: readonly string[];
  /** A transitional version ("Masks first" in docs/sync-run.md) that the engine has yet to use; null: none. */
  pendingStep: PendingStep | null;
  /** The first steps (transitional rules to publish before a version) that have been computed, by `firstStepKey`; null: the version needs none. */
  firstSteps: ReadonlyMap<string, FirstStep | null>;
}

export interface LiveTarget extends Pick<LiveRules, 'text' | 'namedVersion'> {
  limitBytes: number | null;
  /** Whether the target lacks the latest version, although nobody edited the target by hand. */
  isBehind: boolean;
}

export interface PendingStep extends Pick<Candidate, 'text' | 'hash' | 'rules' | 'bytes' | 'access' | 'findings'> {
  firstStepOf: string;
}

export type LatestVersion = Pick<
  Publication,
  | 'version'
  | 'text'
  | 'hash'
  | 'snapshotHash'
  | 'compiler'
  | 'isWithdrawal'
  | 'isFound'
  | 'firstStepOf'
  | 'restored'
  | 'brokenAt'
>;

/** An older version to publish instead of rules by the current grants. It must give no access that the current grants deny. */
export interface RestoreCandidate {
  restore: Restore;
  /** Whether this run was requested to begin the restore; false: an earlier run began it. */
  isOrdered: boolean;
  olderVersion: OlderVersion;
  /** Comparisons of the restored text with other texts, by `comparisonKey`. */
  comparisons: ReadonlyMap<string, Comparison>;
}

export type OlderVersion = Pick<Candidate, 'text' | 'hash' | 'rules' | 'bytes' | 'findings' | 'snapshot'>;

/** The changes of access that the restored text makes. */
export interface Comparison {
  /** The access that the restore changes, compared with publishing without it. */
  fromIntended: AccessChange;
  /** The changes from the text that was published last to the restored text. Null: nothing was published, or the caller did not ask. */
  fromPublished: AccessChange | null;
  /** Findings of the proof of the restored data; for OPA only. */
  findings?: readonly Finding[];
}

export interface Refusal {
  reasons: Finding[];
  /** The `approvalHash` whose approval would end the refusal; null: no approval would help. */
  awaits: string | null;
}

/** The next action of a run. After `prepare`, `withdraw`, `compare` and `stage`, the run decides anew. */
export type Decision =
  | { kind: 'prepare' }
  | { kind: 'withdraw'; changes: WithdrawalOrder['changes']; refusal: Refusal }
  | { kind: 'compare'; candidate: Candidate; restoration: RestoreCandidate }
  /** The run must find out whether other rules must be published before `next` (docs/sync-run.md). */
  | { kind: 'stage'; next: Candidate }
  | { kind: 'refuse'; refusal: Refusal }
  | KeepDecision
  | PublishDecision;

export interface KeepDecision {
  kind: 'keep';
  /** The restore of an older version that is carried out or kept; null: no restore. */
  restore: Restore | null;
  /** Why the candidate is refused, if another version is kept or published instead; otherwise null. */
  refusal: Refusal | null;
}

export interface PublishDecision extends Pick<KeepDecision, 'restore' | 'refusal'> {
  kind: 'publish';
  next: Candidate;
  /** Whether `next` is a withdrawal: the previous version minus access that changes took away. */
  isWithdrawal: boolean;
  /** If `next` is a first step (a transitional version, docs/sync-run.md): the hash of the rules to publish after `next`. Otherwise null. */
  firstStepOf: string | null;
  /** Whether the targets are written. False: only the history is written, because the targets have the text already. */
  isWritten: boolean;
  /** The edit by hand that the publication overwrites; null: none. */
  edit: Edit | null;
}

/** Decides the next step of a run (docs/sync-run.md): make a missing version or comparison, publish a version, keep the latest one, or refuse. */
export function decide(situation: Situation): Decision {
  const { candidate, withdrawal, isForOpa, latest, restoration } = situation;
  if (candidate === null && isUpToDate(situation))
    return { kind: 'keep', restore: restoration?.restore ?? null, refusal: null };
  const isMeasuredFromLatest = latest?.isFound !== true || latest.text === situation.foundText;
  if (candidate === null || !isMeasuredFromLatest) return { kind: 'prepare' };
  if (!isRefused(candidate)) return decideRestore(candidate, null, situation);
  const refusal = refusalOf(candidate, isForOpa);
  if (withdrawal === undefined) {
    // If the candidate is refused only because the engine failed on its text, the withdrawal also includes revocations without an audit event.
    const changes = refusal.reasons.every(({ code }) => code === BROKEN_FINDING.code) ? 'all' : 'recorded';
    return { kind: 'withdraw', changes, refusal };
  }
  if (withdrawal !== null && !isRefused(withdrawal)) return decideRestore(withdrawal, refusal, situation);
  const reasons = [...refusal.reasons, ...(withdrawal === null ? [] : withdrawal.findings.filter(isError))];
  return { kind: 'refuse', refusal: { ...refusal, reasons } };
}

function decideRestore(candidate: Candidate, refusal: Refusal | null, situation: Situation): Decision {
  const { latest, restoration } = situation;
  if (restoration === null) return decideWrite(candidate, { restore: null, refusal }, situation);
  const { restore, isOrdered, olderVersion } = restoration;
  const comparison = restoration.comparisons.get(comparisonKey(candidate, latest));
  const objections = [...olderVersion.findings, ...(comparison?.findings ?? [])].filter(isError);
  if (comparison === undefined && objections.length === 0) return { kind: 'compare', candidate, restoration };
  const contradiction = comparison && restoreContradiction(restore, comparison.fromIntended);
  const reasons = contradiction ? [...objections, contradiction] : objections;
  if (reasons.length === 0) {
    const restoredVersion = withOlderRules(candidate, olderVersion, comparison?.fromPublished ?? null);
    return decideWrite(restoredVersion, { restore, refusal: isOrdered ? null : refusal }, situation);
  }
  if (isOrdered) return { kind: 'refuse', refusal: { reasons, awaits: null } };
  return decideWrite(candidate, { restore: null, refusal }, situation);
}

function withOlderRules(candidate: Candidate, olderVersion: OlderVersion, access: AccessChange | null): Candidate {
  const { hash, rules, bytes, findings } = olderVersion;
  const text = candidate.text === null ? null : olderVersion.text;
  return { ...candidate, text, hash, rules, bytes, findings, access, changedAt: null };
}

function decideWrite(
  chosenVersion: Candidate,
  { restore, refusal }: Pick<KeepDecision, 'restore' | 'refusal'>,
  situation: Situation,
): Decision {
  const { targets, isForOpa, latest } = situation;
  const step = firstStepTo(chosenVersion, situation);
  if (step === undefined) return { kind: 'stage', next: chosenVersion };
  const next = { ...chosenVersion, ...step };
  const firstStepOf = step === null ? null : chosenVersion.hash;
  // A version found at a target (`isFound`) and a withdrawal are not kept, except by a refused run.
  const canStay = latest !== null && ((!latest.isFound && !latest.isWithdrawal) || refusal !== null);
  const areSameRules = latest !== null && latest.text === next.text && isSameRestore(latest, restore);
  // While a version is restored, OPA decides by the snapshot of that version.
  const isSameData = areSameRules && (restore !== null || latest.snapshotHash === next.snapshotHash);
  const targetsToWrite = targets.filter(({ text }) => text !== next.text);
  // Equal rules can come from unequal snapshots, because only the data for OPA contains the ends of grants.
  const isWritten = targetsToWrite.length > 0 || (isForOpa && !isSameData);
  const areTargetsBehind = targetsToWrite.every((target) => target.isBehind);
  const isSameVersion = isForOpa ? isSameData : areSameRules;
  if (canStay && areTargetsBehind && isSameVersion) return { kind: 'keep', restore, refusal };
  const edit = isWritten ? findHandEdit(situation) : null;
  const isWithdrawal = refusal !== null && restore === null;
  return { kind: 'publish', restore, refusal, next, firstStepOf, isWithdrawal, isWritten, edit };
}

/** Transitional rules to publish before `next`, so that the masks of `next` apply before the access that it adds. Null: none are needed; undefined: not computed yet. */
function firstStepTo(next: Candidate, situation: Situation): Partial<Candidate> | null | undefined {
  const { targets, latest, inUse, pendingStep, firstSteps } = situation;
  // No transitional rules precede the first publication (docs/migrate.md), or a text that all targets already have.
  if (latest === null || targets.every(({ text }) => text === next.text)) return null;
  const isStepAtTargets = targets.every(({ text, isBehind }) => isBehind || text === pendingStep?.text);
  if (pendingStep?.firstStepOf === next.hash && isStepAtTargets) {
    const { firstStepOf: _, ...rules } = pendingStep;
    return rules;
  }
  const isNarrower = next.access?.gainedInAll === 0 && inUse.every((text) => text === latest.text);
  if (isNarrower || !RESTRICTING_RULE.test(next.text ?? '') || inUse.every((text) => text === next.text)) return null;
  const step = firstSteps.get(firstStepKey(next, inUse));
  if (!step) return step;
  const { finding, ...rules } = step;
  return { ...rules, findings: [...next.findings, finding] };
}

/** Matches rules with a mask, or with a filter other than `true`, which passes every row. */
const RESTRICTING_RULE = /"mask":|"filter":\s*"(?!true")/;

export function firstStepKey({ hash }: Pick<Candidate, 'hash'>, textsInUse: readonly string[]): string {
  return [hash, ...textsInUse.map(hashOfText)].join(' ');
}

/**
 * Whether a run can end without compiling: the targets have the latest version, and compiling the present snapshot would give the same
 * version again.
 */
function isUpToDate({ latest, targets, input, now, restoration }: Situation): boolean {
  if (latest?.firstStepOf !== null || restoration?.isOrdered === true) return false;
  if (restoration?.olderVersion.findings.some(isError) === true) return false;
  const isLastingVersion =
    latest.restored === null ? !latest.isWithdrawal && !latest.isFound : restoreInEffect(latest, now) !== null;
  return (
    isLastingVersion &&
    latest.brokenAt === null &&
    (latest.text !== null || targets.length === 0) &&
    targets.every(({ text, isBehind }) => isBehind || text === latest.text) &&
    latest.snapshotHash === input.snapshotHash &&
    latest.compiler === input.compiler
  );
}

/** The refusal of a version. Its reasons are the errors among the findings. */
function refusalOf(candidate: Candidate, isForOpa: boolean): Refusal {
  const reasons = candidate.findings.filter(isError);
  const canBeApproved = reasons.every(({ code }) => code === UNEXPLAINED_CODE || code === DATABASE_BEHIND_CODE);
  return { reasons, awaits: canBeApproved ? approvalHash(candidate, isForOpa) : null };
}

/** Refuses a text on which the engine failed before, because it would fail every statement of every user. */
export const BROKEN_FINDING: Finding = {
  code: 'rules-broken',
  severity: 'error',
  message:
    'the engine could not use these very rules when they were published; they are not published again until grants, policies, settings or the compiler make others',
};

export function comparisonKey({ hash }: Pick<Candidate, 'hash'>, latest: Pick<Publication, 'version'> | null): string {
  return `${hash} ${latest?.version}`;
}

/** An edit by hand at a target: a text that is neither the latest version's nor an accepted candidate's. Null: no edit, or no candidate yet. */
export function findHandEdit({ targets, latest, candidate }: Situation): Edit | null {
  // A version that only OPA has has no text, or an empty one if it was found there.
  if (candidate === null || latest?.text === null || latest?.text === '') return null;
  const isExpected = (text: string | null): boolean =>
    text === (latest?.text ?? null) || (text === candidate.text && !isRefused(candidate));
  const target = targets.find(({ text, isBehind }) => !isBehind && !isExpected(text));
  return target === undefined ? null : { textHash: target.text === null ? null : hashOfText(target.text) };
}

/** The outcome of a run that kept or published a version. @param isNewPublication whether this run published it */
export function outcomeOf(
  { restore, refusal }: Pick<KeepDecision, 'restore' | 'refusal'>,
  publication: Publication,
  isNewPublication: boolean,
): RunOutcome {
  if (refusal !== null) return { kind: 'refused', ...refusal, publication: isNewPublication ? publication : null };
  const masksFirstFindings = publication.checks.filter(({ code }) => code === MASKS_FIRST);
  const reasons = [...masksFirstFindings, ...(restore === null ? [] : [restoredFinding(restore)])];
  return { kind: isNewPublication ? 'applied' : 'no_change', publication, reasons };
}
