import { Injectable } from '@nestjs/common';
import { CandidateService } from './candidate.service.js';
import type { Candidate } from './domain/candidate.js';
import { type Plan, planPublication } from './domain/publication.js';
import { PublicationHistory } from './domain/publication-history.js';
import { diffRules, type RulesDiff } from './rules/rules-diff.js';
import { RulesTarget } from './domain/rules-target.js';
import { fitted } from './fitting.js';

export interface Preview {
  plan: Plan;
  candidate: Candidate;
  /** Against the live text. */
  diff: RulesDiff;
}

const TARGET_MS = 30_000;

/** What the next run would do. Writes nothing, and needs no lock: the next run decides anew. */
@Injectable()
export class PreviewService {
  constructor(
    private readonly candidates: CandidateService,
    private readonly target: RulesTarget,
    private readonly history: PublicationHistory,
  ) {}

  /** @throws RulesTargetUnavailable */
  async preview(): Promise<Preview> {
    const prepared = await this.candidates.current();
    const live = await this.target.read(AbortSignal.timeout(TARGET_MS));
    const candidate = fitted(prepared, live.text, this.target.limitBytes);
    const plan = planPublication(candidate, live, await this.history.latest());
    return { plan, candidate, diff: diffRules(live.text, candidate.text) };
  }
}
