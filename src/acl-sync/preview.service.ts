import { Injectable } from '@nestjs/common';
import type { ConcurrencyQuota } from '../kernel/errors.js';
import { diffRules, type RulesDiff } from '../trino-rules/diff/rules-diff.js';
import type { Finding } from '../trino-rules/document/finding.js';
import { CandidateService } from './candidate.service.js';
import { withCapacityFindings } from './capacity-findings.js';
import { accessForm, type AccessForm } from './domain/access-text.js';
import type { Candidate } from './domain/candidate.js';
import { PublicationHistory } from './domain/publication-history.js';
import { type Plan, planPublication } from './domain/publication.js';
import { RulesTarget } from './domain/rules-target.js';

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

const TARGET_MS = 30_000;

/** A preview takes seconds of a core and up to a gibibyte: so many at a time per replica, and one per user. */
const PREVIEWS = { name: 'previews', limit: 2 };
const PREVIEWS_PER_USER = { name: 'previews-per-person', limit: 1 };

/** `too-many`: `quota` is reached until a preview ends. */
export type PreviewResult = { kind: 'made'; preview: Preview } | { kind: 'too-many'; quota: ConcurrencyQuota };

/** Shows what the next run would do. Writes nothing, and needs no lock: the run plans again. */
@Injectable()
export class PreviewService {
  /** Accounts with a preview in progress; null: the command line. */
  private readonly underWay = new Set<number | null>();

  constructor(
    private readonly candidates: CandidateService,
    private readonly target: RulesTarget,
    private readonly history: PublicationHistory,
  ) {}

  /**
   * @param by the account that requests it; null: the command line
   * @throws RulesTargetUnavailable, PreparationExceeded
   */
  async preview(by: number | null): Promise<PreviewResult> {
    if (this.underWay.has(by)) return { kind: 'too-many', quota: PREVIEWS_PER_USER };
    if (this.underWay.size >= PREVIEWS.limit) return { kind: 'too-many', quota: PREVIEWS };
    this.underWay.add(by);
    try {
      return { kind: 'made', preview: await this.make() };
    } finally {
      this.underWay.delete(by);
    }
  }

  private async make(): Promise<Preview> {
    const { candidate: prepared } = await this.candidates.current();
    const live = await this.target.read(AbortSignal.timeout(TARGET_MS));
    const candidate = withCapacityFindings(prepared, live.text, this.target.limitBytes);
    const plan = planPublication(candidate, live, await this.history.latest());
    return { plan, candidate, diff: diffRules(live.text, candidate.text) };
  }
}
