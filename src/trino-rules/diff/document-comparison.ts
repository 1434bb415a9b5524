import { MARKER } from '../document/rules-document.js';
import type { AccessFact } from '../engine/access-fact.js';
import type { CatalogModes, EngineSets } from '../engine/engine-sets.js';
import { everyRight, holders } from '../engine/rights.js';
import { SchemaComparison, type ComparisonSink } from '../engine/schema-comparison.js';
import { type Branch, everyKindOfName, namesAt, onlyFreshName, placeBelow } from '../engine/rule-trie.js';
import { SchemaTables } from '../engine/schema-tables.js';
import { wordAt, type Bitset } from '../engine/sparse-bitset.js';

/** Receives the changes between two documents. */
export interface DocumentComparisonSink extends Pick<
  ComparisonSink,
  'compare' | 'comparedEverywhere' | 'comparedTable'
> {
  /** A fact that belongs to no table: users who had it, and users who have it. */
  compareRight(fact: AccessFact, had: Bitset, has: Bitset): void;
}

/**
 * Compares the access of two documents: tables, then `system`, then all other rights. The marker of the version is left out.
 * @param isEvery compares every user on every kind of name that open patterns tell apart; false: only for documents without these
 */
export function compareDocuments(
  before: EngineSets,
  after: EngineSets,
  sink: DocumentComparisonSink,
  isEvery = false,
): void {
  const schemas = new SchemaComparison(before, restrictedAlike(sink));
  const unnamed = isEvery ? everyKindOfName(before.patterns) : onlyFreshName(before.patterns);
  const names = (branches: readonly Branch[]): Set<string> => namesAt(placeBelow(branches), unnamed);
  const catalogs = names([...before.catalogBranches(), ...after.catalogBranches()]);
  // `system` is compared last, and even without rules, because the engine opens it itself.
  catalogs.delete('system');
  catalogs.add('system');
  for (const catalog of catalogs) {
    const [had, has] = [before.modes(catalog), after.modes(catalog)];
    for (const schema of names([...before.schemaBranches(catalog), ...after.schemaBranches(catalog)])) {
      const [former, next] = [
        new SchemaTables(before, catalog, schema, had),
        new SchemaTables(after, catalog, schema, has),
      ];
      const unnamedTables = isEvery ? unnamed(placeBelow([former.branch, next.branch])) : null;
      schemas.compare({ catalog, schema }, former, next, unnamedTables);
    }
    const mode = (mode: 'read-only' | 'all') => ({ about: 'catalog-mode', resource: { catalog }, mode }) as const;
    sink.compareRight(mode('read-only'), entering(had), entering(has));
    sink.compareRight(mode('all'), had.all, has.all);
  }
  for (const right of everyRight([before, after], { properties: [], routines: [] }, unnamed)) {
    if (right.about === 'session-property' && right.property.startsWith(MARKER)) continue;
    sink.compareRight(right, holders(before, right), holders(after, right));
  }
}

function restrictedAlike(sink: DocumentComparisonSink): ComparisonSink {
  return {
    compare: (...sets) => sink.compare(...sets),
    comparedEverywhere: (reaching) => sink.comparedEverywhere?.(reaching),
    comparedTable: (active, reaching) => sink.comparedTable?.(active, reaching),
    // Restrictions of users who gain or lose all access are no change.
    restrictedAmong: (before, after) => before & after,
    // A mask has no effect on a column that is hidden, before or after.
    maskedAmong: (restricted, hidden) => restricted & ~hidden,
  };
}

/** Users who may enter a catalog, in any mode. */
function entering({ all, readOnly }: CatalogModes): Bitset {
  return all.map((word, index) => word | wordAt(readOnly, index));
}
