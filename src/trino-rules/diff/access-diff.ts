import { PatternCache } from '../document/pattern-cache.js';
import type { RulesDocument } from '../document/rules-document.js';
import { WorkBudget } from '../document/work-budget.js';
import { isRestriction, renamed, standingForOthers, type AccessFact } from '../engine/access-fact.js';
import { EngineSets } from '../engine/engine-sets.js';
import type { ComparisonSink } from '../engine/schema-comparison.js';
import { differences, type Bitset } from '../engine/sparse-bitset.js';
import { UserUniverse } from '../engine/user-universe.js';
import { compareDocuments, type DocumentComparisonSink } from './document-comparison.js';

/** An access fact, and all users who gain or lose it. */
export interface AccessDifference<Fact = AccessFact> {
  /** A level that neither document names has a fresh name, or one of `standingForOthers`. */
  fact: Fact;
  /** Users that either document names, sorted. */
  people: string[];
  /** Users that neither document names, sorted. */
  strangers: string[];
}

/** A dropped restriction is a gain. */
export interface AccessDiff<Fact = AccessFact> {
  gained: AccessDifference<Fact>[];
  lost: AccessDifference<Fact>[];
}

/**
 * All access that the second document adds and removes: for all users and nodes that either document names, and for one name of each
 * kind that open patterns tell apart.
 * @param patterns for documents that are not both Grantline's own
 * @throws BudgetExceeded
 */
export function diffAccess(
  before: RulesDocument,
  after: RulesDocument,
  budget = new WorkBudget(),
  patterns = new PatternCache(budget),
): AccessDiff {
  const people = new UserUniverse([], [before, after], patterns, true);
  const engines = [new EngineSets(before, patterns, people), new EngineSets(after, patterns, people)] as const;
  const differences = new Differences(engines[0]);
  compareDocuments(...engines, differences, true);
  return differences.found;
}

const STEPS_PER_USER = 20;

class Differences implements DocumentComparisonSink {
  readonly found: AccessDiff = { gained: [], lost: [] };
  private readonly spelled: ReadonlySet<string>;

  constructor(private readonly engine: EngineSets) {
    this.spelled = new Set([...engine.patterns.allSpelled(), 'system']);
  }

  compare(...[fact, active, before, after, among = null]: Parameters<ComparisonSink['compare']>): void {
    const [less, more] = differences(active, before, after, among);
    if (less.length + more.length === 0) return;
    const changed = fact();
    const [gained, lost] = isRestriction(changed) ? [less, more] : [more, less];
    if (gained.length > 0) this.found.gained.push(this.difference(changed, gained));
    if (lost.length > 0) this.found.lost.push(this.difference(changed, lost));
  }

  compareRight(fact: AccessFact, had: Bitset, has: Bitset): void {
    this.compare(() => fact, this.engine.everyWord, had, has);
  }

  private difference(fact: AccessFact, positions: readonly number[]): AccessDifference {
    const { people } = this.engine;
    this.engine.spend(positions.length * STEPS_PER_USER);
    const [named, strangers] = [new Set<string>(), new Set<string>()];
    for (const position of positions) {
      const name = people.names()[position] ?? '';
      if (people.isUnnamed(position)) strangers.add(standingForOthers(name));
      else named.add(name);
    }
    return { fact: this.written(fact), people: [...named].sort(), strangers: [...strangers].sort() };
  }

  private written(fact: AccessFact): AccessFact {
    const { people } = this.engine;
    return renamed(
      fact,
      (name) => (this.spelled.has(name) ? name : standingForOthers(name)),
      (name) => (people.named(name).every((position) => people.isUnnamed(position)) ? standingForOthers(name) : name),
    );
  }
}
