import { Injectable } from '@nestjs/common';
import { Clock } from '../kernel/clock.js';
import type { ConcurrencyQuota } from '../kernel/errors.js';
import { diffRules, type RulesDiff } from '../trino-rules/diff/rules-diff.js';
import type { Snapshot } from '../trino-rules/model/snapshot.js';
import { CandidateService } from './candidate.service.js';
import { accessForm } from './domain/access-text.js';
import type { Candidate } from './domain/candidate.js';
import { foundLatest, foundVersion } from './domain/found-version.js';
import { PublicationHistory } from './domain/publication-history.js';
import type { Publication } from './domain/publication.js';
import { lastingRestore, restoredFinding } from './domain/restore.js';
import { RulesPreparer } from './domain/rules-preparer.js';
import { RulesTarget, TARGET_MS } from './domain/rules-target.js';
import {
  type Compare,
  comparisonKey,
  decide,
  type Decision,
  editIn,
  type LatestVersion,
  type Restoring,
  type Situation,
} from './domain/run-decision.js';
import { judgedRestore, judgedText } from './judged-text.js';

export interface Preview {
  would: 'publish' | 'no_change' | 'refused';
  /** What would be published, or was refused. */
  candidate: Candidate;
  /** Against the live text. */
  diff: RulesDiff;
  /** Whether the live rules were edited by hand, or are another's. */
  drift: boolean;
  live: string | null;
  /** What the candidate was compiled from. */
  snapshot: Snapshot;
  /** Hash of the text to approve; null: none waits for an approval. */
  awaits: string | null;
}

/** In the names of the API and the command line. */
export function previewForm({ would, candidate, diff, drift, awaits }: Preview) {
  const { hash, rules, bytes, findings, access } = candidate;
  return {
    would,
    hash,
    rules,
    bytes,
    diff: { rules: diff, access: access && accessForm(access, Infinity) },
    checks: findings,
    drift,
    awaits,
  };
}

/** A preview takes seconds of a core and up to a gibibyte: so many at a time per replica, and one per user. */
const PREVIEWS = { name: 'previews', limit: 2 };
const PREVIEWS_PER_USER = { name: 'previews-per-person', limit: 1 };

/** `too-many`: `quota` is reached until a preview or a comparison ends. */
export type Limited<T> = { kind: 'made'; made: T } | { kind: 'too-many'; quota: ConcurrencyQuota };

/** Shows what the next run would do, and compares versions. Writes nothing, and needs no lock: the run plans again. */
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
  ) {}

  /**
   * @param by the account that requests it; null: the command line
   * @throws RulesTargetUnavailable, PreparationExceeded
   */
  preview(by: number | null): Promise<Limited<Preview>> {
    return this.limited(by, () => this.make());
  }

  /** Rules and access that the second version adds and removes. */
  compare(
    by: number,
    before: Pick<Publication, 'text'>,
    after: Pick<Publication, 'text'>,
  ): Promise<Limited<Pick<Publication, 'diff' | 'access'>>> {
    return this.limited(by, async () => ({
      diff: diffRules(before.text, after.text),
      access: await this.preparer.compare(before.text, after.text),
    }));
  }

  private async limited<T>(by: number | null, work: () => Promise<T>): Promise<Limited<T>> {
    if (this.underWay.has(by)) return { kind: 'too-many', quota: PREVIEWS_PER_USER };
    if (this.underWay.size >= PREVIEWS.limit) return { kind: 'too-many', quota: PREVIEWS };
    this.underWay.add(by);
    try {
      return { kind: 'made', made: await work() };
    } finally {
      this.underWay.delete(by);
    }
  }

  private async make(): Promise<Preview> {
    const { target, history } = this;
    const reading = await this.candidates.read();
    const known = await history.latest();
    const found = foundVersion(await target.read(AbortSignal.timeout(TARGET_MS)), known, await history.newest());
    const prepared = await this.candidates.prepare(reading, found);
    const live = await target.read(AbortSignal.timeout(TARGET_MS));
    const latest = found === null ? await history.latest() : foundLatest(found);
    const now = this.clock.now();
    const candidate = await judgedText(prepared.candidate, live, { history, target }, true);
    const restore = lastingRestore(latest, now);
    const text = restore && (await judgedRestore(restore, live, { history, target }));
    const restoring = restore && text && { restore, isOrdered: false, text, comparisons: new Map() };
    const foundText = latest?.text ?? null;
    const situation: Situation = { live, latest, now, reading, candidate, foundText, withdrawal: undefined, restoring };
    const decision = decide(situation);
    const { snapshot } = reading;
    if (decision.kind !== 'compare') return { ...previewOf(decision, situation, candidate), snapshot };
    const compared = { ...situation, restoring: await this.compared(decision, latest) };
    return { ...previewOf(decide(compared), compared, candidate), snapshot };
  }

  private async compared({ intent, restoring }: Compare, latest: LatestVersion | null): Promise<Restoring> {
    const fromIntent = await this.preparer.compare(intent.text, restoring.text.text);
    const comparisons = new Map([[comparisonKey(intent, latest), { fromIntent, fromPublished: null }]]);
    return { ...restoring, comparisons };
  }
}

function previewOf(decision: Decision, situation: Situation, candidate: Candidate): Omit<Preview, 'snapshot'> {
  const isWritten = decision.kind === 'publish' && decision.isWritten;
  const refusal = decision.kind === 'withdraw' ? decision.refusal : null;
  const restore = decision.kind === 'keep' || decision.kind === 'publish' ? decision.restore : null;
  const shown = isWritten ? decision.next : candidate;
  return {
    would: refusal !== null ? 'refused' : isWritten ? 'publish' : 'no_change',
    candidate: { ...shown, findings: [...shown.findings, ...(restore === null ? [] : [restoredFinding(restore)])] },
    diff: diffRules(situation.live.text, shown.text),
    drift: editIn(situation) !== null,
    live: situation.live.text,
    awaits: refusal?.awaits ?? null,
  };
}
