import type { AccessFact } from '../engine/access-fact.js';
import { countMembers, members, wordAt, type Bitset } from '../engine/sparse-bitset.js';
import type { Subject } from '../model/subject.js';

/** Where rules and grants disagree: by the rules somebody has something that the grants do not give, or the other way round. */
export interface Difference {
  aspect: AccessFact;
  somebody: Subject;
  /** How many more it concerns in just the same way. */
  others: number;
  byRules: boolean;
}

/** Collects differences and stops keeping them when there are more than anybody reads. */
export class Differences {
  readonly found: Difference[] = [];
  total = 0;

  constructor(
    private readonly subjects: readonly Subject[],
    private readonly keep: number,
  ) {}

  /** Compares two sets at some of their words, and of these only those among `among`. */
  compare(
    aspect: () => AccessFact,
    active: Uint32Array,
    byRules: Bitset | null,
    byGrants: Bitset | null,
    among: Bitset | null = null,
  ): void {
    const extra = new Tally();
    const missing = new Tally();
    for (const index of active) {
      const rules = byRules === null ? 0 : wordAt(byRules, index);
      const grants = byGrants === null ? 0 : wordAt(byGrants, index);
      const differ = (rules ^ grants) & (among === null ? -1 : wordAt(among, index));
      if (differ === 0) continue;
      extra.add(index, differ & rules);
      missing.add(index, differ & grants);
    }
    if (extra.count > 0) this.add(aspect, extra, true);
    if (missing.count > 0) this.add(aspect, missing, false);
  }

  private add(aspect: () => AccessFact, { first, count }: Tally, byRules: boolean): void {
    const somebody = this.subjects[first];
    if (somebody === undefined) return;
    this.total++;
    if (this.found.length < this.keep) this.found.push({ aspect: aspect(), somebody, others: count - 1, byRules });
  }
}

/** Counts people, and remembers the first. */
class Tally {
  first = -1;
  count = 0;

  add(index: number, word: number): void {
    if (word === 0) return;
    const [first = -1] = members(index, word);
    if (this.count === 0) this.first = first;
    this.count += countMembers(word);
  }
}
