import { PatternCache } from '../document/pattern-cache.js';
import type { RulesDocument } from '../document/rules-document.js';
import { WorkBudget } from '../document/work-budget.js';
import { isRestriction, renameFact, markRepresentative, type AccessFact } from '../engine/access-fact.js';
import { EngineSets } from '../engine/engine-sets.js';
import type { ComparisonSink } from '../engine/schema-comparison.js';
import { differences, type Bitset } from '../engine/sparse-bitset.js';
import { UserUniverse } from '../engine/user-universe.js';
import { compareDocuments, type DocumentComparisonSink } from './document-comparison.js';

/** A permission or restriction that differs between two documents, with the users who gain or lose it. */
export interface AccessDifference<Fact = AccessFact> {
  /** A made-up name in the fact's node represents all names that neither document contains. */
  fact: Fact;
  /** Users that either document names, sorted. */
  people: string[];
  /** Users that neither document names, sorted. */
  strangers: string[];
}

export interface AccessDiff<Fact = AccessFact> {
  gained: AccessDifference<Fact>[];
  lost: AccessDifference<Fact>[];
}

/**
 * All access that the second document adds and removes, for all users and nodes.
 * @param patterns a cache, whose parser must understand all patterns of both documents
 * @throws BudgetExceeded
 */
export function diffAccess(
  oldRules: RulesDocument,
  newRules: RulesDocument,
  budget = new WorkBudget(),
  patterns = new PatternCache(budget),
): AccessDiff {
  const universe = new UserUniverse([], [oldRules, newRules], patterns, true);
  const engines = [new EngineSets(oldRules, patterns, universe), new EngineSets(newRules, patterns, universe)] as const;
  const collector = new DiffCollector(engines[0]);
  compareDocuments(...engines, collector, true);
  return collector.accessDiff;
}

const COST_PER_USER = 20;

class DiffCollector implements DocumentComparisonSink {
  readonly accessDiff: AccessDiff = { gained: [], lost: [] };
  private readonly spelledNames: ReadonlySet<string>;

  constructor(private readonly engine: EngineSets) {
    this.spelledNames = new Set([...engine.patterns.allSpelledNames(), 'system']);
  }

  compare(...[fact, activeWords, oldUsers, newUsers, users = null]: Parameters<ComparisonSink['compare']>): void {
    const [onlyBefore, onlyAfter] = differences(activeWords, oldUsers, newUsers, users);
    if (onlyBefore.length + onlyAfter.length === 0) return;
    const changedFact = fact();
    const [gained, lost] = isRestriction(changedFact) ? [onlyBefore, onlyAfter] : [onlyAfter, onlyBefore];
    if (gained.length > 0) this.accessDiff.gained.push(this.difference(changedFact, gained));
    if (lost.length > 0) this.accessDiff.lost.push(this.difference(changedFact, lost));
  }

  compareHolders(fact: AccessFact, holdersBefore: Bitset, holdersAfter: Bitset): void {
    this.compare(() => fact, this.engine.everyWordIndex, holdersBefore, holdersAfter);
  }

  private difference(fact: AccessFact, positions: readonly number[]): AccessDifference {
    const { universe } = this.engine;
    this.engine.spend(positions.length * COST_PER_USER);
    const [namedUsers, strangers] = [new Set<string>(), new Set<string>()];
    for (const position of positions) {
      const name = universe.names()[position] ?? '';
      if (universe.isRepresentative(position)) strangers.add(markRepresentative(name));
      else namedUsers.add(name);
    }
    return { fact: this.markRepresentatives(fact), people: [...namedUsers].sort(), strangers: [...strangers].sort() };
  }

  private markRepresentatives(fact: AccessFact): AccessFact {
    const { universe } = this.engine;
    return renameFact(
      fact,
      (name) => (this.spelledNames.has(name) ? name : markRepresentative(name)),
      (name) =>
        universe.positionsOf(name).every((position) => universe.isRepresentative(position))
          ? markRepresentative(name)
          : name,
    );
  }
}
