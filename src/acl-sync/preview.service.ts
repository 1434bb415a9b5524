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

/** As the API and the command line name things. */
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
  /** Of the text to approve; null: nothing waits for an approval. */
  awaits: string | null;
}

const TARGET_MS = 30_000;

/** A preview takes seconds of a core and up to a gibibyte, so a replica makes only so many at a time, one for each person. */
const PREVIEWS = { name: 'previews', limit: 2 };
const PREVIEWS_PER_PERSON = { name: 'previews-per-person', limit: 1 };

/** `too-many`: this limit is reached until a preview ends. */
export type PreviewResult = { kind: 'made'; preview: Preview } | { kind: 'too-many'; quota: ConcurrencyQuota };

/** What the next run would do. Writes nothing, and needs no lock: the next run decides anew. */
@Injectable()
export class PreviewService {
  /** Whose previews are under way; null: the command line's. */
  private readonly underWay = new Set<number | null>();

  constructor(
    private readonly candidates: CandidateService,
    private readonly target: RulesTarget,
    private readonly history: PublicationHistory,
  ) {}

  /**
   * @param by who wants it; null: the command line.
   * @throws RulesTargetUnavailable, PreparationExceeded
   */
  async preview(by: number | null): Promise<PreviewResult> {
    if (this.underWay.has(by)) return { kind: 'too-many', quota: PREVIEWS_PER_PERSON };
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
