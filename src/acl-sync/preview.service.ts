import { Injectable } from '@nestjs/common';
import { GuaranteeStore } from '../grants/guarantee.store.js';
import { Clock } from '../kernel/clock.js';
import { Refused } from '../kernel/errors.js';
import type { GuaranteeVerdictForm } from '../trino-rules/answers/guarantee-verdicts.js';
import { diffRules } from '../trino-rules/diff/rules-diff.js';
import { CandidateService } from './candidate.service.js';
import { accessForm } from './domain/access-text.js';
import type { Candidate } from './domain/candidate.js';
import { latestOfFound, foundVersion } from './domain/found-version.js';
import { PublicationHistory } from './domain/publication-history.js';
import type { Publication } from './domain/publication.js';
import { restoredFinding } from './domain/restore.js';
import { RulesPreparer } from './domain/run-ports.js';
import { RulesTarget, TARGET_MS } from './domain/rules-target.js';
import { comparisonKey, decide, type Decision, editIn, type Situation } from './domain/run-decision.js';
import { withFindings, type MadeTexts } from './publishing-run.js';

/** Previews at a time per replica (and one per user): each takes seconds of a core and up to a gibibyte. */
const PREVIEWS = { name: 'previews', limit: 2 };
const PREVIEWS_PER_USER = { name: 'previews-per-person', limit: 1 };
/** Seconds until a retry makes sense, while other previews are running. */
const RETRY_AFTER = 5;

/** Previews the next run, and compares versions. Writes nothing, and needs no lock, because the run itself decides again. */
@Injectable()
export class PreviewService {
  /** Accounts with a preview in progress; null: the command line. */
  private readonly underWay = new Set<number | null>();

  constructor(
    private readonly candidates: CandidateService,
    private readonly preparer: RulesPreparer,
    private readonly target: RulesTarget,
    private readonly history: PublicationHistory,
    private readonly clock: Clock,
    private readonly guarantees: GuaranteeStore,
  ) {}

  /**
   * @param by the account that requests it; null: the command line
   * @throws Refused `too_many_requests`; RulesTargetUnavailable, PreparationExceeded
   */
  preview(by: number | null): Promise<Preview> {
    return this.runLimited(by, () => this.makePreview());
  }

  /** Rules and access that the second version adds and removes. @throws Refused `too_many_requests` */
  compare(
    by: number,
    before: Pick<Publication, 'text'>,
    after: Pick<Publication, 'text'>,
  ): Promise<Pick<Publication, 'diff' | 'access'>> {
    return this.runLimited(by, async () => ({
      diff: diffRules(before.text, after.text),
      access: await this.preparer.compare(before.text, after.text),
    }));
  }

  private async runLimited<T>(by: number | null, work: () => Promise<T>): Promise<T> {
    const isOwn = this.underWay.has(by);
    if (isOwn || this.underWay.size >= PREVIEWS.limit)
      throw new Refused('too_many_requests', { quota: isOwn ? PREVIEWS_PER_USER : PREVIEWS, retryAfter: RETRY_AFTER });
    this.underWay.add(by);
    try {
      return await work();
    } finally {
      this.underWay.delete(by);
    }
  }

  private async makePreview(): Promise<Preview> {
    const { target, history } = this;
    const reading = await this.candidates.read();
    const known = await history.latest();
    const seen = await target.read(AbortSignal.timeout(TARGET_MS));
    const found = foundVersion(seen, known, await history.newest());
    const prepared = await this.candidates.prepare(reading, found, seen.text);
    const live = await target.read(AbortSignal.timeout(TARGET_MS));
    const latest = found === null ? await history.latest() : latestOfFound(found);
    const now = this.clock.now();
    const judgedWith = async (comparisons: MadeTexts['comparisons']): Promise<Situation> => {
      const made = { prepared, withdrawal: undefined, comparisons };
      return { live, latest, now, reading, ...(await withFindings(made, { live, latest, now }, { target, history })) };
    };
    let situation = await judgedWith(new Map());
    let decision = decide(situation);
    if (decision.kind === 'compare') {
      const { intent, restoring } = decision;
      const fromIntent = await this.preparer.compare(intent.text, restoring.text.text);
      situation = await judgedWith(new Map([[comparisonKey(intent, latest), { fromIntent, fromPublished: null }]]));
      decision = decide(situation);
    }
    const candidate = situation.candidate ?? prepared.candidate;
    return previewOf(decision, situation, candidate, await this.guarantees.changedBy(candidate.verdicts));
  }
}

export type Preview = ReturnType<typeof previewOf>;

/** A preview with the names of the API and the command line. `drift`: the live rules were edited by hand or come from elsewhere. */
function previewOf(decision: Decision, situation: Situation, candidate: Candidate, guarantees: GuaranteeVerdictForm[]) {
  const isWritten = decision.kind === 'publish' && decision.isWritten;
  const refusal = decision.kind === 'withdraw' ? decision.refusal : null;
  const restore = decision.kind === 'keep' || decision.kind === 'publish' ? decision.restore : null;
  const { text, hash, rules, bytes, findings, access } = isWritten ? decision.next : candidate;
  return {
    would: refusal !== null ? ('refused' as const) : isWritten ? ('publish' as const) : ('no_change' as const),
    ...{ hash, rules, bytes },
    diff: { rules: diffRules(situation.live.text, text), access: access && accessForm(access, Infinity) },
    checks: [...findings, ...(restore === null ? [] : [restoredFinding(restore)])],
    drift: editIn(situation) !== null,
    awaits: refusal?.awaits ?? null,
    guarantees,
  };
}
