import { gzipSync } from 'node:zlib';
import type { Clock, Timers } from '../kernel/clock.js';
import { diffRules } from '../trino-rules/diff/rules-diff.js';
import { type Finding, isError } from '../trino-rules/document/finding.js';
import { readRules } from '../trino-rules/document/rules-reader.js';
import { checkCapacity } from '../trino-rules/document/target-capacity.js';
import type { CandidateService, PreparedCandidate, CandidateInput } from './candidate.service.js';
import type { Candidate } from './domain/candidate.js';
import { isTakenAsLive, LIVE_WITHIN_MS, textsInUse } from './domain/engine-watch.js';
import { draftOfFound, findVersionAtTargets, isVersionNamed } from './domain/found-version.js';
import type { PublicationDraft, PublicationHistory } from './domain/publication-history.js';
import { failureOf, type Publication, type RunEnding, type RunOrder, type RunOutcome } from './domain/publication.js';
import { restoreInEffect, type Restore } from './domain/restore.js';
import type { Lease } from './domain/run-ports.js';
import { type LiveRules, RulesTargetMoved, type RulesTargets } from './domain/rules-target.js';
import {
  BROKEN_FINDING,
  type Comparison,
  comparisonKey,
  decide,
  type Decision,
  findHandEdit,
  firstStepKey,
  type KeepDecision,
  type LiveTarget,
  outcomeOf,
  type PendingStep,
  type PublishDecision,
  type OlderVersion,
  type Situation,
} from './domain/run-decision.js';
import { heldVersion, isBehind, type TargetState } from './domain/target-state.js';
import { type TargetSession, TargetSessions } from './target-sessions.js';

interface RunPorts {
  targets: RulesTargets;
  history: PublicationHistory;
  clock: Clock;
  timers: Timers;
  candidates: CandidateService;
}

export interface RunResults {
  prepared: PreparedCandidate | null;
  withdrawal: Candidate | null | undefined;
  comparisons: ReadonlyMap<string, Comparison>;
  firstSteps: Situation['firstSteps'];
}

/** The present situation, with the targets as they were read. */
interface ReadSituation extends Situation {
  input: CandidateInput;
  sessions: readonly TargetSession[];
  latest: Publication | null;
}

/** The most first steps (transitional versions) of a run. A run needs several only if another writer keeps changing a target. */
const MAX_FIRST_STEPS = 10;

/** One run: reads the situation, decides, and carries the decision out, until a decision ends the run (docs/sync-run.md). */
export class PublishingRun {
  private cache: RunResults = { prepared: null, withdrawal: undefined, comparisons: new Map(), firstSteps: new Map() };
  private editByHand: RunEnding['edit'] = null;
  private begunVersion: number | null = null;
  /** The version that is published now. Null: no version is published, or the history was not read. */
  private publishedVersion: Publication | null = null;
  private readonly sessions: TargetSessions;

  constructor(
    private readonly ports: RunPorts,
    private readonly order: RunOrder,
    private readonly lastTargetStates: readonly TargetState[],
    lease: Lease,
  ) {
    this.sessions = new TargetSessions(ports.targets, lastTargetStates, lease, ports.timers);
  }

  /** Makes the run. Never rejects: a failure is an outcome. */
  async publish(): Promise<RunEnding> {
    let outcome: RunOutcome;
    try {
      outcome = await this.publishEverywhere(await this.ports.candidates.read());
    } catch (error) {
      outcome = { kind: 'failed', failure: failureOf(error), outcomeElsewhere: null };
    }
    const targets = this.sessions.statesAfter(this.publishedVersion);
    return { outcome, edit: this.editByHand, judgement: this.cache.prepared?.candidate ?? null, targets };
  }

  /** Publishes to the targets that answer in time, and then to those that answer later. */
  private async publishEverywhere(input: CandidateInput): Promise<RunOutcome> {
    let outcome = await this.untilDecided(input);
    if (await this.sessions.waitForLateTargets()) outcome = await this.untilDecided(input);
    const failure = this.sessions.firstFailure();
    // A target's failure replaces neither another failure nor a refusal, on which a person must decide. The status shows failed targets anyway.
    if (failure === null || outcome.kind === 'refused' || outcome.kind === 'failed') return outcome;
    return { kind: 'failed', failure: failureOf(failure), outcomeElsewhere: outcome };
  }

  /** Decides and acts until the run has an outcome. @throws RulesTargetUnavailable or RulesTargetMoved if all targets have failed and OPA cannot go ahead alone; LeaseLost */
  private async untilDecided(input: CandidateInput): Promise<RunOutcome> {
    for (;;) {
      const situation = await this.read(input);
      const decision = decide(situation);
      this.editByHand = findHandEdit(situation) ?? this.editByHand;
      const outcome = await this.carryOut(decision, situation);
      if (outcome === null) continue;
      this.publishedVersion = (outcome.kind === 'failed' ? null : outcome.publication) ?? situation.latest;
      return outcome;
    }
  }

  /** Carries a decision out. Null: the run must read the situation again and go on. */
  private async carryOut(decision: Decision, situation: ReadSituation): Promise<RunOutcome | null> {
    switch (decision.kind) {
      case 'prepare':
        return this.keepResults({
          prepared: await this.ports.candidates.prepare(situation.input, null, situation.targets[0]?.text ?? null),
          withdrawal: undefined,
        });
      case 'withdraw':
        return this.keepResults({ withdrawal: await this.cache.prepared?.makeWithdrawal(decision.changes) });
      case 'compare': {
        const { candidate, restoration } = decision;
        const { latest } = situation;
        const published = latest && (await this.ports.candidates.accessOf(latest));
        const comparison = await this.ports.candidates.compareRestore(candidate, restoration.olderVersion, published);
        const key = comparisonKey(candidate, latest);
        return this.keepResults({ comparisons: new Map([...this.cache.comparisons, [key, comparison]]) });
      }
      case 'stage': {
        const { next } = decision;
        const { inUse, latest, targets } = situation;
        if (this.cache.firstSteps.size >= MAX_FIRST_STEPS) throw new RulesTargetMoved();
        const step = await this.ports.candidates.firstStep(
          { nextText: next.text ?? '', publishedText: latest?.text ?? '', usedTexts: inUse },
          (madeStep) =>
            targets.every(({ text, limitBytes }) => !capacityFindings(madeStep, text ?? '', limitBytes).some(isError)),
        );
        return this.keepResults({ firstSteps: new Map([...this.cache.firstSteps, [firstStepKey(next, inUse), step]]) });
      }
      case 'refuse':
        return { kind: 'refused', ...decision.refusal, publication: null };
      case 'keep':
        return this.keepPublished(decision, situation);
      case 'publish':
        return this.writeRules(decision, situation);
    }
  }

  private keepResults(newResults: Partial<RunResults>): null {
    this.cache = { ...this.cache, ...newResults };
    this.sessions.restartTimeLimits();
    return null;
  }

  /** Keeps the published version, and writes it only to targets that lack it or whose annotations do not name it. */
  private async keepPublished(
    decision: KeepDecision,
    { sessions, targets, latest, candidate }: ReadSituation,
  ): Promise<RunOutcome | null> {
    if (latest === null) throw new Error('nothing was published that could stay');
    const { text, hash, version: generation, publishedAt } = latest;
    const outdatedSessions = sessions.filter(
      ({ rules }, i) => targets[i]?.isBehind === true || !isVersionNamed(rules, latest),
    );
    if (text !== null && !(await this.sessions.replace(outdatedSessions, { text, hash, generation, publishedAt })))
      return null;
    // If the present grants give exactly the kept version, later changes are measured from them, not from the snapshot of the version.
    if (candidate !== null && decision.refusal === null && decision.restore === null && latest.firstStepOf === null)
      await this.ports.history.addLaterSnapshot(generation, candidate);
    // A version that this run began was published by this run: the write succeeded, and only the answer to it was lost.
    return outcomeOf(decision, latest, generation === this.begunVersion);
  }

  private async writeRules(decision: PublishDecision, situation: ReadSituation): Promise<RunOutcome | null> {
    const { history, clock } = this.ports;
    const { sessions, now: publishedAt } = situation;
    this.begunVersion = await history.beginVersion(publicationDraftOf(decision, situation, this.order));
    const { text, hash } = decision.next;
    const generation = this.begunVersion;
    const nextRules = text === null || !decision.isWritten ? null : { text, hash, generation, publishedAt };
    if (nextRules !== null && !(await this.sessions.replace(sessions, nextRules))) return null;
    return outcomeOf(decision, await history.confirm(this.begunVersion, clock.now()), decision.isWritten);
  }

  /** Reads the situation. First updates the history from the targets: a run may have died after writing, or another installation published. */
  private async read(input: CandidateInput): Promise<ReadSituation> {
    const { history, clock } = this.ports;
    const sessions = await this.sessions.read((await history.highestVersion()) > 0);
    const now = clock.now();
    const rules = sessions.map((session) => session.rules);
    await history.settleBegun(rules, now);
    const latest = await this.recordFoundVersion(sessions, await history.latest(), now);
    const targets = liveTargets(sessions, this.ports.targets, this.lastTargetStates, latest);
    const { isProbed, isForOpa } = this.ports.targets;
    const versions = await history.publishedSince(new Date(now.getTime() - LIVE_WITHIN_MS));
    // The old text of a target that lacks the latest version (`isBehind`) is left out, because this run replaces that text.
    const textsAtTargets = targets.flatMap(({ text, isBehind }) => (isBehind ? [] : (text ?? [])));
    const publishedTexts = textsInUse(versions, isProbed, now);
    const ruleTextsInUse = [...new Set([...publishedTexts, ...textsAtTargets])];
    const isLive =
      versions.some((version) => isTakenAsLive(version, isProbed, now)) &&
      publishedTexts.every((text) => text === latest?.text);
    const pendingStep = latest && pendingStepOf(latest, isLive);
    const knownFields = {
      ...{ targets, isForOpa },
      latest,
      now,
      input,
      inUse: ruleTextsInUse,
      pendingStep,
      firstSteps: this.cache.firstSteps,
    };
    return { ...knownFields, sessions, ...(await withFindings(this.cache, knownFields, history, this.order.restore)) };
  }

  /** Records a version that a target has and the history lacks, if there is one. @returns the latest version */
  private async recordFoundVersion(
    sessions: readonly TargetSession[],
    latest: Publication | null,
    now: Date,
  ): Promise<Publication | null> {
    const { history, clock } = this.ports;
    const foundVersion = findVersionAtTargets(await unknownRules(sessions, this.lastTargetStates, history), latest);
    if (foundVersion === null) return latest;
    const version = await history.beginVersion(
      draftOfFound(foundVersion, await history.baseline(), latest, this.order.trigger, now),
    );
    return history.confirm(version, clock.now());
  }
}

/**
 * The rules at targets whose version the history lacks: its number is above every one of the history, or was given by the history to
 * another version for OPA while the target could not be read.
 */
export async function unknownRules(
  sessions: readonly TargetSession[],
  lastTargetStates: readonly TargetState[],
  history: PublicationHistory,
): Promise<LiveRules[]> {
  const newestVersion = await history.highestVersion();
  const isKnown = async ({ rules: { namedVersion }, target }: TargetSession): Promise<boolean> => {
    if (namedVersion === undefined) return true;
    const { generation, hash } = namedVersion;
    const isAboveHeld = generation > heldVersion(target.key, lastTargetStates, newestVersion);
    if (generation > newestVersion || !isAboveHeld) return generation <= newestVersion;
    return (await history.hashOf(generation)) === hash;
  };
  const areKnown = await Promise.all(sessions.map(isKnown));
  return sessions.filter((_, i) => areKnown[i] === false).map(({ rules }) => rules);
}

function pendingStepOf(latest: Publication, isLive: boolean): PendingStep | null {
  const { text, hash, rules, bytes, access, checks: findings, firstStepOf, brokenAt } = latest;
  return firstStepOf === null || brokenAt !== null || isLive
    ? null
    : { text, hash, rules, bytes, access, findings, firstStepOf };
}

/**
 * The states of the targets that answered, as `decide` needs them. If none answered, the run decides for OPA as if they had the latest
 * version: the rules must fit them, and have first steps, because they get the rules later.
 */
export function liveTargets(
  sessions: readonly TargetSession[],
  { all, limitBytes }: Pick<RulesTargets, 'all' | 'limitBytes'>,
  lastTargetStates: readonly TargetState[],
  latest: Parameters<typeof isBehind>[3],
): LiveTarget[] {
  if (sessions.length === 0 && all.length > 0) return [{ text: latest?.text ?? null, limitBytes, isBehind: false }];
  return sessions.map(({ rules, target }) => {
    const isTargetBehind = isBehind(rules, target.key, lastTargetStates, latest);
    return { ...rules, limitBytes: target.limitBytes, isBehind: isTargetBehind };
  });
}

function publicationDraftOf(
  { next, restore, isWithdrawal, firstStepOf, isWritten, edit }: PublishDecision,
  { targets, now, latest }: ReadSituation,
  { trigger, by }: RunOrder,
): PublicationDraft {
  const { findings, at, verdicts: _, ...compiled } = next;
  return {
    ...compiled,
    checks: findings,
    snapshotAt: at,
    diff: diffRules(targets[0]?.text ?? null, next.text),
    trigger,
    triggeredBy: by.actor?.id ?? null,
    // A first step (a transitional version) and the version after it have the same `changedAt`.
    changedAt: latest?.firstStepOf === (firstStepOf ?? next.hash) ? latest.changedAt : next.changedAt,
    isWithdrawal,
    firstStepOf,
    restored: restore,
    begunAt: now,
    isWritten,
    edit,
    isFound: false,
    highestNamed: Math.max(0, ...targets.map(({ namedVersion }) => namedVersion?.generation ?? 0)),
  };
}

type CheckedVersion = Pick<Candidate, 'text' | 'hash' | 'bytes' | 'findings'>;

/**
 * Adds findings to the versions that a run may publish: the engine failed on the text earlier, the text cannot be read, or a target has
 * no room for the text beside the live text.
 */
export async function withFindings(
  { prepared, withdrawal, comparisons }: Omit<RunResults, 'firstSteps'>,
  { targets, isForOpa, latest, now }: Pick<Situation, 'targets' | 'isForOpa' | 'latest' | 'now'>,
  history: PublicationHistory,
  orderedRestore?: Restore,
): Promise<Pick<Situation, 'candidate' | 'foundText' | 'withdrawal' | 'restoration'>> {
  const restore = orderedRestore ?? restoreInEffect(latest, now);
  return {
    candidate: prepared && (await withTargetFindings(prepared.candidate, targets, history, true)),
    foundText: prepared?.foundText ?? null,
    withdrawal: withdrawal && (await withTargetFindings(withdrawal, targets, history, false)),
    restoration: restore && {
      ...{ restore, isOrdered: orderedRestore !== undefined, comparisons },
      olderVersion: await judgedRestore(restore, { targets, isForOpa }, history),
    },
  };
}

async function withTargetFindings<T extends CheckedVersion>(
  version: T,
  targets: Situation['targets'],
  history: PublicationHistory,
  isProved: boolean,
): Promise<T> {
  const brokenFindings = (await history.isBroken(version.hash)) ? [BROKEN_FINDING] : [];
  const findings = [...version.findings, ...brokenFindings];
  const otherTargets = targets.filter(({ text }) => text !== version.text);
  if (otherTargets.length === 0 || findings.some(({ code }) => code === 'too-large')) return { ...version, findings };
  if (!isProved && readRules(version.text ?? '').kind !== 'read')
    return { ...version, findings: [...findings, UNREADABLE_FINDING] };
  const perTarget = otherTargets.map(({ text, limitBytes }) => capacityFindings(version, text ?? '', limitBytes));
  const worstFindings = perTarget.find((each) => each.some(isError)) ?? perTarget.find((each) => each.length > 0) ?? [];
  return { ...version, findings: [...findings, ...worstFindings] };
}

async function judgedRestore(
  { version }: Restore,
  { targets, isForOpa }: Pick<Situation, 'targets' | 'isForOpa'>,
  history: PublicationHistory,
): Promise<OlderVersion> {
  const restoredPublication = await history.find(version);
  if (restoredPublication === null) throw new Error(`publication ${version} does not exist`);
  const { text, hash, rules, bytes, firstStepOf } = restoredPublication;
  // Only OPA decides by the snapshot, which can have mebibytes.
  const snapshot = isForOpa ? ((await history.accessSnapshot(version)) ?? '') : '';
  const restoredVersion = { text, hash, rules, bytes, snapshot, findings: [] };
  const isReadable = targets.length === 0 || (text !== null && readRules(text).kind === 'read');
  if (!isReadable) return { ...restoredVersion, findings: [UNREADABLE_FINDING] };
  if (isForOpa && snapshot === '') return { ...restoredVersion, findings: [DATA_UNKNOWN_FINDING] };
  if (firstStepOf !== null) return { ...restoredVersion, findings: [FIRST_STEP_FINDING] };
  return withTargetFindings(restoredVersion, targets, history, true);
}

/** Refuses an unreadable text from the target: it was never proved, so it may give any access, and the engine may fail on it. */
const UNREADABLE_FINDING: Finding = {
  code: 'rules-unreadable',
  severity: 'error',
  message: 'that version has no rules, or none that can be read completely, so it is not published',
};

/** Refuses to restore a version that was found at a target, because OPA decides by snapshots, and that version has none. */
const DATA_UNKNOWN_FINDING: Finding = {
  code: 'data-unknown',
  severity: 'error',
  message: 'that version was found at a target, so that no data for OPA can be made of it; restore another one',
};

/** Refuses to restore a first step (a transitional version), because its filters make statements fail. */
const FIRST_STEP_FINDING: Finding = {
  code: 'restore-of-step',
  severity: 'error',
  message: 'that version is a step towards the version after it; restore that one',
};

export function capacityFindings(
  { text, bytes }: Pick<CheckedVersion, 'text' | 'bytes'>,
  formerText: string,
  limitBytes: number | null,
): Finding[] {
  const sizes = {
    nextBytes: bytes,
    formerBytes: Buffer.byteLength(formerText),
    compressedNextBytes: () => gzipSync(text ?? '').length,
    compressedFormerBytes: () => gzipSync(formerText).length,
  };
  return checkCapacity(sizes, limitBytes);
}
