import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import type { Candidate, Preparation } from './candidate.js';

/** The rules could not be prepared within a limit, which is there for worlds that nobody foresaw. */
export class PreparationExceeded extends Error {
  constructor(
    readonly reason: 'deadline' | 'memory',
    limit: string,
  ) {
    super(`compiling and checking the rules takes more than ${limit}`);
    this.name = 'PreparationExceeded';
  }
}

/** Carries out what takes seconds where it holds up nobody. */
export abstract class RulesPreparer {
  /**
   * `prepare`, as the build that this is.
   * @throws PreparationExceeded
   */
  abstract prepare(preparation: Preparation): Promise<Candidate>;
  /** `prepareWithdrawal`, likewise. */
  abstract withdraw(preparation: Preparation, how: 'compiled' | 'closed'): Promise<Candidate | null>;
  /**
   * The text alone, unjudged.
   * @throws PreparationExceeded
   */
  abstract compile(snapshot: Snapshot): Promise<string>;
}
