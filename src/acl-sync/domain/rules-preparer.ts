import type { Snapshot } from '../../grants/domain/snapshot.js';
import type { Candidate } from './candidate.js';

/** Carries out `prepare` where its seconds of work hold up nobody. */
export abstract class RulesPreparer {
  abstract prepare(snapshot: Snapshot, limitBytes: number | null): Promise<Candidate>;
}
