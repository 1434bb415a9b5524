import type { Candidate, Preparation } from './candidate.js';

/** Carries out `prepare` where its seconds of work hold up nobody, and knows which build that is. */
export abstract class RulesPreparer {
  abstract prepare(preparation: Preparation): Promise<Candidate>;
}
