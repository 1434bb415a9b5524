import type { AccessFact, Place } from '../engine/access-fact.js';
import type { ActualAccess } from '../engine/actual-access.js';
import { effectivePrivilege } from '../engine/catalog-gate.js';
import type { CatalogModes, EngineSets } from '../engine/engine-sets.js';
import { INFORMATION_SCHEMA } from '../engine/evaluator.js';
import { SchemaTables } from '../engine/schema-tables.js';
import { addWord, membersOf, WordMarks, wordAt, bitset, type Bitset } from '../engine/sparse-bitset.js';
import { PRIVILEGES } from '../model/privilege.js';
import type { Snapshot } from '../model/snapshot.js';
import { entriesByNode, systemEntries, type EntryNode } from './access-entries.js';
import type { Differences } from './differences.js';
import type { ExpectedAccess } from './expected-access.js';
import { ExpectedScope, ExpectedReach } from './expected-scope.js';
import type { PrincipalIndex } from './principal-index.js';

/**
 * Asks the rules about everybody on every node: each that the grants name, each that a rule's patterns allow in any
 * combination, and one fresh name at each level, which stands for all that nobody has named. Rules cannot tell any
 * further node from one of these, so that nothing is left out.
 * @returns who reaches something, by the grants: service accounts, and whoever has anything anywhere
 */
export function proveData(
  engine: EngineSets,
  snapshot: Snapshot,
  roster: PrincipalIndex,
  differences: Differences,
): Bitset {
  const { everyWord, width, people, fresh } = engine;
  const marks = new WordMarks(width);
  const reached: Bitset = new Uint32Array(width);
  const effective: Bitset = new Uint32Array(width);
  const reaching = bitset(width, roster.serviceAccounts);
  const said = entriesByNode(snapshot, roster);
  const spelled = [engine.catalogs, engine.schemas, engine.tables].flatMap((trie) => [...trie.branch([]).names()]);
  for (const catalog of new Set([...[...said.keys()].sort(), ...spelled, fresh])) {
    if (catalog === SYSTEM) continue;
    const { any } = proveCatalog(catalog, said.get(catalog));
    for (const index of everyWord) addWord(reaching, index, wordAt(any, index));
  }
  // Who may read `system` follows from all the rest.
  proveCatalog(SYSTEM, systemEntries(membersOf(reaching)));
  return reaching;

  function proveCatalog(catalog: string, node: EntryNode | undefined): ExpectedReach {
    const modes = engine.modes(catalog);
    engine.spend(people.count);
    const reach = new ExpectedReach(people.count, width);
    const meant = ExpectedScope.catalog(reach, node);
    const spelled = [engine.schemas, engine.tables].flatMap((trie) => [...trie.branch([catalog]).names()]);
    for (const schema of new Set([...meant.names(), ...spelled, fresh]))
      proveSchema({ catalog, schema }, meant.child(schema), modes);
    const aspect = (mode: 'all' | 'read-only') => () => ({ about: 'catalog-mode', place: { catalog }, mode }) as const;
    differences.compare(aspect('all'), everyWord, modes.all, reach.beyondReading);
    differences.compare(aspect('read-only'), everyWord, modes.readOnly, reach.onlyReading());
    return reach;
  }

  function proveSchema(place: Required<Omit<Place, 'table'>>, meant: ExpectedScope, modes: CatalogModes): void {
    const { catalog, schema } = place;
    engine.spend(STEPS_PER_SCHEMA + SETS_PER_SCHEMA * width);
    const owners = engine.schemaOwners(catalog, schema, modes);
    const aspect = () => ({ about: 'schema-ownership', place }) as const;
    differences.compare(aspect, everyWord, owners, meant.access.given.OWNERSHIP);
    const tables = new SchemaTables(engine, catalog, schema);
    // Whoever may read the catalog may read its names; no table rule is asked there. What is granted there lets in all the same.
    const isAsked = schema !== INFORMATION_SCHEMA;
    if (isAsked) compare({ ...place, table: fresh }, tables.everywhere, meant.access, modes, everyWord);
    for (const table of new Set([...meant.names(), ...tables.names(), fresh])) {
      engine.spend(STEPS_PER_TABLE + width);
      tables.mark(table, marks);
      meant.mark(table, marks);
      const active = marks.take();
      const wanted = meant.at(table, active);
      if (isAsked && active.length > 0) compare({ ...place, table }, tables.at(table, active), wanted, modes, active);
    }
  }

  function compare(
    place: Place,
    outcome: ActualAccess,
    wanted: ExpectedAccess,
    modes: CatalogModes,
    active: Uint32Array,
  ): void {
    const restricted = [outcome, wanted].flatMap(({ filters, hidden, masks }) => [filters, hidden, ...masks.values()]);
    const sets = PRIVILEGES.length + restricted.reduce((sum, { size }) => sum + size, 0);
    engine.spend(sets * (active.length + STEPS_PER_SET));
    for (const index of active) reached[index] = 0;
    for (const privilege of PRIVILEGES) {
      effectivePrivilege(outcome, privilege, modes, active, effective);
      for (const index of active) reached[index] = wordAt(reached, index) | wordAt(effective, index);
      const aspect = (): AccessFact => ({ about: 'privilege', place, privilege });
      differences.compare(aspect, active, effective, wanted.given[privilege]);
    }
    // Whoever reaches the table and is not to, or the other way round, has been told of above.
    for (const index of active) reached[index] = ~(wordAt(reached, index) ^ wordAt(wanted.reached, index));
    const told = (aspect: () => AccessFact, byRules: Bitset | undefined, byGrants: Bitset | undefined): void =>
      differences.compare(aspect, active, byRules ?? null, byGrants ?? null, reached);
    for (const expression of union(outcome.filters, wanted.filters)) {
      const aspect = (): AccessFact => ({ about: 'row-filter', place, expression });
      told(aspect, outcome.filters.get(expression), wanted.filters.get(expression));
    }
    for (const column of union(outcome.hidden, wanted.hidden)) {
      const aspect = (): AccessFact => ({ about: 'hidden-column', place, column });
      told(aspect, outcome.hidden.get(column), wanted.hidden.get(column));
    }
    for (const column of union(outcome.masks, wanted.masks)) {
      const byRules = outcome.masks.get(column);
      const byGrants = wanted.masks.get(column);
      for (const expression of union(byRules, byGrants)) {
        const aspect = (): AccessFact => ({ about: 'column-mask', place, column, expression });
        told(aspect, byRules?.get(expression), byGrants?.get(expression));
      }
    }
  }
}

const SYSTEM = 'system';
/** To set up what is asked of a schema; each of its sets is as wide as there are words of people. */
const STEPS_PER_SCHEMA = 500;
const SETS_PER_SCHEMA = 40;
const STEPS_PER_TABLE = 200;
const STEPS_PER_SET = 100;

function union(
  a: ReadonlyMap<string, unknown> | undefined,
  b: ReadonlyMap<string, unknown> | undefined,
): Iterable<string> {
  if (a === undefined || a.size === 0) return b?.keys() ?? [];
  if (b === undefined || b.size === 0) return a.keys();
  return new Set([...a.keys(), ...b.keys()]);
}
