import { Injectable } from '@nestjs/common';
import { Clock } from '../kernel/clock.js';
import type { ConcurrencyQuota } from '../kernel/errors.js';
import { diffRules, type RulesDiff } from '../trino-rules/diff/rules-diff.js';
import type { Finding } from '../trino-rules/document/finding.js';
import { CandidateService } from './candidate.service.js';
import { withCapacityFindings } from './capacity-findings.js';
import { accessForm, type AccessForm } from './domain/access-text.js';
import type { Candidate } from './domain/candidate.js';
import { type FoundVersion, foundVersion } from './domain/found-version.js';
import { PublicationHistory } from './domain/publication-history.js';
import { type Plan, planPublication } from './domain/publication-plan.js';
import type { Publication } from './domain/publication.js';
import { contradiction, lastingRestore, restoredFinding } from './domain/restore.js';
import { RulesPreparer } from './domain/rules-preparer.js';
import { type LiveRules, RulesTarget, TARGET_MS } from './domain/rules-target.js';

export interface Preview {
  plan: Plan;
  candidate: Candidate;
  /** Against the live text. */
  diff: RulesDiff;
}

/** In the names of the API and the command line. */
export function previewForm({ plan, candidate, diff }: Preview): PreviewForm {
  const { hash, rules, bytes, findings, access } = candidate;
  return {
    would: plan.kind,
    hash,
    rules,
    bytes,
    diff: { rules: diff, access: access && accessForm(access, Infinity) },
    checks: findings,
    drift: plan.drift,
    awaits: plan.kind === 'refused' && plan.awaitsApproval ? hash : null,
  };
}

export interface PreviewForm extends Pick<Candidate, 'hash' | 'rules' | 'bytes'> {
  would: Plan['kind'];
  diff: { rules: RulesDiff; access: AccessForm | null };
  checks: Finding[];
  drift: boolean;
  /** Hash of the text to approve; null: none waits for an approval. */
  awaits: string | null;
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

  private async found(live: LiveRules): Promise<FoundVersion | null> {
    return foundVersion(live, await this.history.latest(), await this.history.newest());
  }

  private async make(): Promise<Preview> {
    const reading = await this.candidates.read();
    const found = await this.found(await this.target.read(AbortSignal.timeout(TARGET_MS)));
    const { candidate: prepared } = await this.candidates.prepare(reading, found);
    const live = await this.target.read(AbortSignal.timeout(TARGET_MS));
    const candidate = withCapacityFindings(prepared, live.text, this.target.limitBytes);
    const latest = await this.history.latest();
    const plan = planPublication(candidate, live, found ?? latest);
    const diff = diffRules(live.text, candidate.text);
    const restore = lastingRestore(latest, this.clock.now());
    if (latest === null || restore === null) return { plan, candidate, diff };
    const change = await this.preparer.compare(candidate.text, latest.text);
    const stays = plan.kind === 'publish' && contradiction(restore, change) === null;
    const findings = stays ? [...candidate.findings, restoredFinding(restore)] : candidate.findings;
    return { plan: stays ? { kind: 'no_change', drift: false } : plan, candidate: { ...candidate, findings }, diff };
  }
}
