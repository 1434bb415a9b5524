import { PatternCache } from '../document/pattern-cache.js';
import { FRESH_PREFIX } from '../document/open-names.js';
import type { RulesDocument } from '../document/rules-document.js';
import { WorkBudget } from '../document/work-budget.js';
import { isRestriction, type AccessFact } from '../engine/access-fact.js';
import { EngineSets } from '../engine/engine-sets.js';
import type { ComparisonSink } from '../engine/schema-comparison.js';
import { differing, type Bitset, type MemberTally } from '../engine/sparse-bitset.js';
import { UserUniverse } from '../engine/user-universe.js';
import { compareDocuments, type DocumentComparisonSink } from './document-comparison.js';

/** One access fact, and everyone who gains or loses it. */
export interface AccessDifference<Fact = AccessFact> {
  /** An unnamed level of its resource has a fresh name. */
  fact: Fact;
  /** Users that either document names, sorted. */
  people: string[];
  /** Fresh names for users that neither names, one for each open pattern that matches more. */
  strangers: string[];
}

/** A restriction that is dropped is gained access. */
export interface AccessDiff<Fact = AccessFact> {
  gained: AccessDifference<Fact>[];
  lost: AccessDifference<Fact>[];
}

/**
 * All access that the second document adds and removes. Complete for every user on every node that either document names; an entry
 * with fresh names is about the nodes that neither names.
 * @param patterns where the documents are not both Grantline's own
 * @throws BudgetExceeded
 */
export function diffAccess(
  before: RulesDocument,
  after: RulesDocument,
  budget = new WorkBudget(),
  patterns = new PatternCache(budget),
): AccessDiff {
  const people = new UserUniverse([], [before, after], patterns);
  const engines = [new EngineSets(before, patterns, people), new EngineSets(after, patterns, people)] as const;
  const differences = new Differences(engines[0]);
  compareDocuments(...engines, differences, true);
  return differences.found;
}

/** To list a user of a difference, and to keep the entry. */
const STEPS_PER_USER = 20;

class Differences implements DocumentComparisonSink {
  readonly found: AccessDiff = { gained: [], lost: [] };
  private readonly names: readonly string[];
  private readonly everyWord: Uint32Array;

  constructor(private readonly engine: EngineSets) {
    this.names = engine.people.names();
    this.everyWord = engine.everyWord;
  }

  compare(...[fact, active, before, after, among = null]: Parameters<ComparisonSink['compare']>): void {
    const [less, more] = differing(active, before, after, among, Infinity);
    if (less.count === 0 && more.count === 0) return;
    const changed = fact();
    const [gained, lost] = isRestriction(changed) ? [less, more] : [more, less];
    if (gained.count > 0) this.found.gained.push(this.difference(changed, gained));
    if (lost.count > 0) this.found.lost.push(this.difference(changed, lost));
  }

  compareRight(fact: AccessFact, had: Bitset, has: Bitset): void {
    this.compare(() => fact, this.everyWord, had, has);
  }

  comparedEverywhere(): void {
    // Every table is compared for all users.
  }

  comparedTable(): void {
    // As above.
  }

  private difference(fact: AccessFact, { first }: MemberTally): AccessDifference {
    this.engine.spend(first.length * STEPS_PER_USER);
    const names = [...new Set(first.map((position) => this.names[position] ?? ''))].sort();
    const isStranger = (name: string): boolean => name.includes(FRESH_PREFIX);
    return { fact, people: names.filter((name) => !isStranger(name)), strangers: names.filter(isStranger) };
  }
}
