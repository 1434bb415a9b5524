import { PatternCache } from '../document/pattern-cache.js';
import { type RulesDocument, MARKER_PREFIX } from '../document/rules-document.js';
import { WorkBudget } from '../document/work-budget.js';
import { isRestriction, renameFact, markRepresentative, type AccessFact } from '../engine/access-fact.js';
import { EngineSets, type UsersByCatalogMode } from '../engine/engine-sets.js';
import { type ComparisonSink, SchemaComparison } from '../engine/schema-comparison.js';
import { differences, type Bitset, wordAt } from '../engine/sparse-bitset.js';
import { UserUniverse } from '../engine/user-universe.js';
import { everyRight, holders } from '../engine/rights.js';
import { type Branch, nameKindChooser, namesAt, freshNameChooser, nameLevelOf } from '../engine/rule-trie.js';
import { SchemaTables } from '../engine/schema-tables.js';

/** A permission or restriction that differs between two documents, with the users who gain or lose it. */
export interface AccessDifference<Fact = AccessFact> {
  /** A made-up name in the fact's node represents all names that neither document contains. */
  fact: Fact;
  people: string[];
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

const NO_EXTRA_QUESTIONS = { sessionProperties: [], routines: [], asksOwners: false } as const;

export interface DocumentComparisonSink extends Pick<ComparisonSink, 'compare' | 'endUnnamedTables' | 'endTable'> {
  compareHolders(fact: AccessFact, holdersBefore: Bitset, holdersAfter: Bitset): void;
}

/**
 * Compares the access that two documents give, first to tables, then all other rights. The session property that marks the version is left out.
 * @param coversEveryNameKind whether to compare more than one invented name. Must be true if patterns contain `.*`
 */
export function compareDocuments(
  oldEngine: EngineSets,
  newEngine: EngineSets,
  sink: DocumentComparisonSink,
  coversEveryNameKind = false,
): void {
  const schemaComparison = new SchemaComparison(oldEngine, toComparisonSink(sink));
  const chooseNames = coversEveryNameKind ? nameKindChooser(oldEngine.patterns) : freshNameChooser(oldEngine.patterns);
  const namesIn = (branches: readonly Branch[]): Set<string> => namesAt(nameLevelOf(branches), chooseNames);
  const catalogs = namesIn([...oldEngine.catalogBranches(), ...newEngine.catalogBranches()]);
  // `system` is compared last, and even if no rule names it, because the engine itself lets users into `system`.
  catalogs.delete('system');
  catalogs.add('system');
  for (const catalog of catalogs) {
    const [modesBefore, modesAfter] = [oldEngine.usersByMode(catalog), newEngine.usersByMode(catalog)];
    for (const schema of namesIn([...oldEngine.schemaBranches(catalog), ...newEngine.schemaBranches(catalog)])) {
      const [tablesBefore, tablesAfter] = [
        new SchemaTables(oldEngine, catalog, schema, modesBefore),
        new SchemaTables(newEngine, catalog, schema, modesAfter),
      ];
      const branches = [tablesBefore.schemaBranch, tablesAfter.schemaBranch];
      const unnamedTables = coversEveryNameKind ? chooseNames(nameLevelOf(branches)) : null;
      schemaComparison.compare({ catalog, schema }, tablesBefore, tablesAfter, unnamedTables);
    }
    const modeFact = (modeFact: 'read-only' | 'all') =>
      ({ about: 'catalog-mode', resource: { catalog }, mode: modeFact }) as const;
    sink.compareHolders(modeFact('read-only'), usersWithAccess(modesBefore), usersWithAccess(modesAfter));
    sink.compareHolders(modeFact('all'), modesBefore.all, modesAfter.all);
  }
  for (const right of everyRight([oldEngine, newEngine], NO_EXTRA_QUESTIONS, chooseNames)) {
    if (right.about === 'session-property' && right.property.startsWith(MARKER_PREFIX)) continue;
    sink.compareHolders(right, holders(oldEngine, right), holders(newEngine, right));
  }
}

export function toComparisonSink(sink: DocumentComparisonSink): ComparisonSink {
  return {
    compare: (...parameters) => sink.compare(...parameters),
    endUnnamedTables: (reachingUsers) => sink.endUnnamedTables?.(reachingUsers),
    endTable: (activeWords, reachingUsers) => sink.endTable?.(activeWords, reachingUsers),
    // For users who gain or lose all access, restrictions are not compared.
    usersToCompare: (oldWord, newWord) => oldWord & newWord,
    // Masks are not compared for users from whom one of the documents hides the column.
    maskUsersToCompare: (restrictedWord, hiddenWord) => restrictedWord & ~hiddenWord,
  };
}

function usersWithAccess({ all, readOnly }: UsersByCatalogMode): Bitset {
  return all.map((word, index) => word | wordAt(readOnly, index));
}
