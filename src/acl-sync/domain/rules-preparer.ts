import type { Snapshot } from '../../grants/domain/snapshot.js';
import type { Candidate, Preparation } from './candidate.js';

/** Carries out what takes seconds where it holds up nobody. */
export abstract class RulesPreparer {
  /** `prepare`, as the build that this is. */
  abstract prepare(preparation: Preparation): Promise<Candidate>;
  /** `prepareWithdrawal`, likewise. */
  abstract withdraw(preparation: Preparation, how: 'compiled' | 'closed'): Promise<Candidate | null>;
  /** The text alone, unjudged. */
  abstract compile(snapshot: Snapshot): Promise<string>;
}
