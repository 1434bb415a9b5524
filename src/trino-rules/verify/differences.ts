import type { AccessFact } from '../engine/access-fact.js';
import { differing, type Bitset, type MemberTally } from '../engine/sparse-bitset.js';
import type { Subject } from '../model/principal.js';

/** A difference: access by the rules that the grants do not give, or the other way round. */
export interface Difference {
  fact: AccessFact;
  subject: Subject;
  /** How many more it concerns in just the same way. */
  others: number;
  byRules: boolean;
}

/** Collects differences and stops keeping them beyond the number that is reported. */
export class Differences {
  readonly found: Difference[] = [];
  total = 0;

  constructor(
    private readonly subjects: readonly Subject[],
    private readonly keep: number,
  ) {}

  /** Compares two sets at some of their words, and of these only those among `among`. */
  compare(
    fact: () => AccessFact,
    active: Uint32Array,
    byRules: Bitset | null,
    byGrants: Bitset | null,
    among: Bitset | null = null,
  ): void {
    const [extra, missing] = differing(active, byRules, byGrants, among, 1);
    if (extra.count > 0) this.add(fact, extra, true);
    if (missing.count > 0) this.add(fact, missing, false);
  }

  private add(fact: () => AccessFact, { first, count }: MemberTally, byRules: boolean): void {
    const subject = this.subjects[first[0] ?? -1];
    if (subject === undefined) return;
    this.total++;
    if (this.found.length < this.keep) this.found.push({ fact: fact(), subject, others: count - 1, byRules });
  }
}
