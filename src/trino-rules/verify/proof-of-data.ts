import type { EngineSets } from '../engine/engine-sets.js';
import { SchemaComparison } from '../engine/schema-comparison.js';
import { SchemaTables } from '../engine/schema-tables.js';
import { addWord, bitset, membersOf, wordAt, type Bitset } from '../engine/sparse-bitset.js';
import { SYSTEM } from '../model/node.js';
import { type Privilege, PRIVILEGE_TERMS } from '../model/privilege.js';
import type { Snapshot } from '../model/snapshot.js';
import { entriesByNode, withOpenSchemas } from './access-entries.js';
import type { Differences } from './differences.js';
import { ExpectedReach, ExpectedScope } from './expected-scope.js';
import type { ExpectedQueries } from './expected-queries.js';
import type { ExpectedRoutines } from './expected-routines.js';
import type { PrincipalIndex } from './principal-index.js';

interface ReachSources {
  routines: ExpectedRoutines;
  onEngine: ReadonlyMap<Privilege, Bitset>;
  queries: ExpectedQueries;
}

/**
 * Evaluates the rules for all users on every node: each that the grants name, each that a rule's patterns allow in any
 * combination, and one fresh name at each level, which represents all unnamed ones. Rules cannot tell any
 * further node from one of these, so that nothing is left out.
 * @param by routines, by which a catalog is entered, too; users by their privileges on the engine, and on queries
 * @returns users that reach anything by the grants: service accounts, and users with anything that statements use
 */
export function proveData(
  engine: EngineSets,
  snapshot: Snapshot,
  principals: PrincipalIndex,
  { routines, onEngine, queries }: ReachSources,
  differences: Differences,
): Bitset {
  const { everyWord, width, people, fresh } = engine;
  const reaching = bitset(width, principals.serviceAccounts);
  const schemas = new SchemaComparison(engine, {
    compare: (...sets) => differences.compare(...sets),
    // A user that reaches the table on one side alone has been reported before.
    restrictedAmong: (byRules, byGrants) => ~(byRules ^ byGrants),
    maskedAmong: (restricted) => restricted,
    comparedEverywhere: () => undefined,
    comparedTable: () => undefined,
  });
  const said = entriesByNode(snapshot, principals);
  const root = ExpectedScope.top(newReach(), said.root);
  const { metadataCatalog } = snapshot.settings;
  const closed = metadataCatalog === null ? [] : [metadataCatalog];
  const named = [...root.names(), ...routines.nodes.flatMap((node) => node.catalog ?? [])].sort();
  for (const catalog of new Set([...named, ...engine.catalogNames(), ...closed, fresh])) {
    if (catalog === SYSTEM) continue;
    const reach = newReach();
    const isClosed = catalog === metadataCatalog;
    proveCatalog(catalog, reach, isClosed ? ExpectedScope.top(reach, undefined) : root.catalog(catalog, reach));
    add(reaching, reach.any);
  }
  const granted = newReach(true);
  const inSystem = ExpectedScope.top(granted, said.system);
  for (const name of inSystem.names()) {
    const schema = inSystem.child(name);
    for (const table of schema.names()) schema.at(table, everyWord);
  }
  add(reaching, granted.any);
  const reach = newReach(true);
  for (const [privilege, users] of onEngine) {
    if (PRIVILEGE_TERMS[privilege].usedByStatements) add(reaching, users);
  }
  const killing = routines.killing(queries.killing());
  if (killing !== null) for (const into of [reaching, reach.any]) add(into, killing);
  // The rest of the access to `system` follows from all other.
  proveCatalog(SYSTEM, reach, ExpectedScope.top(reach, withOpenSchemas(said.system, membersOf(reaching))));
  return reaching;

  function add(into: Bitset, users: Bitset): void {
    for (const index of everyWord) addWord(into, index, wordAt(users, index));
  }

  function newReach(isSystem = false): ExpectedReach {
    engine.spend(people.count);
    return new ExpectedReach(people.count, width, isSystem || snapshot.settings.readersMaintain);
  }

  function proveCatalog(catalog: string, reach: ExpectedReach, expected: ExpectedScope): void {
    const modes = engine.modes(catalog);
    // What the mode `read-only` takes of a rule's privileges shows columns all the same (seen on 483): no rule is to give it.
    const entering = { ...modes, all: modes.all.map((word, index) => word | wordAt(modes.readOnly, index)) };
    for (const schema of new Set([...expected.names(), ...engine.schemaNames(catalog), fresh])) {
      const actual = new SchemaTables(engine, catalog, schema, modes, entering);
      schemas.compare({ catalog, schema }, actual, expected.child(schema));
    }
    add(reach.any, routines.reaching(catalog));
    const fact = (mode: 'all' | 'read-only') => () => ({ about: 'catalog-mode', resource: { catalog }, mode }) as const;
    differences.compare(fact('all'), everyWord, modes.all, reach.beyondReading);
    differences.compare(fact('read-only'), everyWord, modes.readOnly, reach.onlyReading());
  }
}
