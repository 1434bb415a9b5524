import { MARKER_PREFIX } from '../document/rules-document.js';
import type { AccessFact } from '../engine/access-fact.js';
import type { UsersByCatalogMode, EngineSets } from '../engine/engine-sets.js';
import { everyRight, holders } from '../engine/rights.js';
import { SchemaComparison, type ComparisonSink } from '../engine/schema-comparison.js';
import { type Branch, nameKindChooser, namesAt, freshNameChooser, nameLevelOf } from '../engine/rule-trie.js';
import { SchemaTables } from '../engine/schema-tables.js';
import { wordAt, type Bitset } from '../engine/sparse-bitset.js';

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
