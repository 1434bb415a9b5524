import { Injectable } from '@nestjs/common';
import { GuaranteeStore } from '../grants/guarantee.store.js';
import { Clock, Timers } from '../kernel/clock.js';
import { Refused } from '../kernel/errors.js';
import type { GuaranteeVerdictForm } from '../trino-rules/answers/guarantee-verdicts.js';
import { diffRules } from '../trino-rules/diff/rules-diff.js';
import { CandidateService } from './candidate.service.js';
import { accessForm } from './domain/access-text.js';
import type { Candidate } from './domain/candidate.js';
import { latestVersionOfFound, findVersionAtTargets } from './domain/found-version.js';
import { PublicationHistory } from './domain/publication-history.js';
import type { Publication } from './domain/publication.js';
import { restoredFinding } from './domain/restore.js';
import type { Lease } from './domain/run-ports.js';
import { RulesTargets } from './domain/rules-target.js';
import { comparisonKey, decide, type Decision, findHandEdit, type Situation } from './domain/run-decision.js';
import { liveTargets, unknownRules, withFindings, type RunResults } from './publishing-run.js';
import { TargetSessions } from './target-sessions.js';

/** Limits of concurrent previews, per replica and per user. Each preview takes seconds of a core and up to a gibibyte. */
const PREVIEW_QUOTA = { name: 'previews', limit: 2 };
const USER_PREVIEW_QUOTA = { name: 'previews-per-person', limit: 1 };
const RETRY_SECONDS = 5;

/** A preview writes nothing, so it needs no lock. */
const NO_LEASE: Lease = { confirm: () => Promise.resolve() };

/** Previews the next run, and compares versions. Writes nothing, and needs no lock, because the run itself decides again. */
@Injectable()
export class PreviewService {
  /** Accounts with a preview in progress; null: the command line. */
  private readonly previewingAccounts = new Set<number | null>();

  constructor(
    private readonly candidates: CandidateService,
    private readonly targets: RulesTargets,
    private readonly history: PublicationHistory,
    private readonly clock: Clock,
    private readonly guarantees: GuaranteeStore,
    private readonly timers: Timers,
  ) {}

  /**
   * @param accountId the account that requests it; null: the command line
   * @throws Refused `too_many_requests`; RulesTargetUnavailable, PreparationExceeded
   */
  preview(accountId: number | null): Promise<Preview> {
    return this.runLimited(accountId, () => this.makePreview());
  }

  /** Rules and access that `versionAfter` adds to `versionBefore` and removes from it. @throws Refused `too_many_requests` */
  compare(
    by: number,
    versionBefore: Pick<Publication, 'version' | 'text'>,
    versionAfter: Pick<Publication, 'version' | 'text'>,
  ): Promise<Pick<Publication, 'diff' | 'access'>> {
    return this.runLimited(by, async () => ({
      diff: diffRules(versionBefore.text, versionAfter.text),
      access: await this.candidates.compareVersions(versionBefore, versionAfter),
    }));
  }

  private async runLimited<T>(by: number | null, work: () => Promise<T>): Promise<T> {
    const isBusy = this.previewingAccounts.has(by);
    if (isBusy || this.previewingAccounts.size >= PREVIEW_QUOTA.limit)
      throw new Refused('too_many_requests', {
        quota: isBusy ? USER_PREVIEW_QUOTA : PREVIEW_QUOTA,
        retryAfter: RETRY_SECONDS,
      });
    this.previewingAccounts.add(by);
    try {
      return await work();
    } finally {
      this.previewingAccounts.delete(by);
    }
  }

  private async makePreview(): Promise<Preview> {
    const { history, timers } = this;
    const input = await this.candidates.read();
    const lastTargetStates = (await history.summary()).lastRun?.targets ?? [];
    const sessions = new TargetSessions(this.targets, lastTargetStates, NO_LEASE, timers);
    const latestRecorded = await history.latest();
    const newestVersion = await history.highestVersion();
    const readSessions = await sessions.read(newestVersion > 0);
    const foundVersion = findVersionAtTargets(
      await unknownRules(readSessions, lastTargetStates, history),
      latestRecorded,
    );
    const prepared = await this.candidates.prepare(input, foundVersion, readSessions[0]?.rules.text ?? null);
    sessions.restartTimeLimits();
    const answeredSessions = await sessions.read(newestVersion > 0);
    const latest = foundVersion === null ? await history.latest() : latestVersionOfFound(foundVersion);
    const targets = liveTargets(answeredSessions, this.targets, lastTargetStates, latest);
    const now = this.clock.now();
    const situationWith = async (comparisons: RunResults['comparisons']): Promise<Situation> => {
      const publishedState = { targets, isForOpa: this.targets.isForOpa, latest, now };
      const results = await withFindings({ prepared, withdrawal: undefined, comparisons }, publishedState, history);
      // `inUse` is empty, so that `decide` makes no first step (a transitional version) and the preview shows the final rules.
      return { ...publishedState, ...results, input, inUse: [], pendingStep: null, firstSteps: new Map() };
    };
    let situation = await situationWith(new Map());
    let decision = decide(situation);
    if (decision.kind === 'compare') {
      const { candidate: comparedCandidate, restoration } = decision;
      const comparison = await this.candidates.compareRestore(comparedCandidate, restoration.olderVersion, null);
      situation = await situationWith(new Map([[comparisonKey(comparedCandidate, latest), comparison]]));
      decision = decide(situation);
    }
    const candidate = situation.candidate ?? prepared.candidate;
    return previewOf(decision, situation, candidate, await this.guarantees.changedVerdicts(candidate.verdicts));
  }
}

export type Preview = ReturnType<typeof previewOf>;

/** A preview in the form of the API and the command line. `drift`: whether somebody edited a target by hand. */
function previewOf(decision: Decision, situation: Situation, candidate: Candidate, guarantees: GuaranteeVerdictForm[]) {
  const isWritten = decision.kind === 'publish' && decision.isWritten;
  const refusal = decision.kind === 'withdraw' ? decision.refusal : null;
  const restore = decision.kind === 'keep' || decision.kind === 'publish' ? decision.restore : null;
  const liveText = situation.targets[0]?.text ?? null;
  const { text, hash, rules, bytes, findings, access } = isWritten ? decision.next : candidate;
  return {
    would: refusal !== null ? ('refused' as const) : isWritten ? ('publish' as const) : ('no_change' as const),
    ...{ hash, rules, bytes },
    diff: { rules: diffRules(liveText, text), access: access && accessForm(access, Infinity) },
    checks: [...findings, ...(restore === null ? [] : [restoredFinding(restore)])],
    drift: findHandEdit(situation) !== null,
    awaits: refusal?.awaits ?? null,
    guarantees,
  };
}
