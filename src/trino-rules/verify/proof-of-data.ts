import type { EngineSets } from '../engine/engine-sets.js';
import { SchemaComparison } from '../engine/schema-comparison.js';
import { SchemaTables } from '../engine/schema-tables.js';
import { addAll, bitset, membersOf, wordAt, type Bitset } from '../engine/sparse-bitset.js';
import { SYSTEM } from '../model/node.js';
import { PRIVILEGE_TERMS } from '../model/privilege.js';
import type { Snapshot } from '../model/snapshot.js';
import { entriesByNode, withOpenSchemas } from './access-entries.js';
import type { Differences } from './counterexample.js';
import { ExpectedReach, ExpectedScope } from './expected-scope.js';
import type { PrincipalIndex } from './principal-index.js';
import type { RightSources } from './proof-of-rights.js';

/**
 * Evaluates the rules for all users on every node: each that the grants name, each combination of names in the rules' patterns, and one
 * fresh name at each level, which represents all unnamed ones. Rules cannot tell any further node from one of these.
 * @returns users with access by the grants: service accounts, and users with anything that statements use
 */
export function proveData(
  engine: EngineSets,
  snapshot: Snapshot,
  principals: PrincipalIndex,
  { routines, onEngine, queries }: Pick<RightSources, 'routines' | 'onEngine' | 'queries'>,
  differences: Differences,
): Bitset {
  const { everyWord, width, people, fresh } = engine;
  const reaching = bitset(width, principals.serviceAccounts);
  const schemas = new SchemaComparison(engine, {
    compare: (...sets) => differences.compare(...sets),
    // Users with access on one side only have been reported.
    restrictedAmong: (byRules, byGrants) => ~(byRules ^ byGrants),
    maskedAmong: (restricted) => restricted,
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
    addAll(reaching, reach.any);
  }
  const granted = newReach(true);
  const inSystem = ExpectedScope.top(granted, said.system);
  for (const name of inSystem.names()) {
    const schema = inSystem.child(name);
    for (const table of schema.names()) schema.at(table, everyWord);
  }
  addAll(reaching, granted.any);
  const reach = newReach(true);
  for (const [privilege, users] of onEngine) {
    if (PRIVILEGE_TERMS[privilege].usedByStatements) addAll(reaching, users);
  }
  const killing = routines.killing(queries.killing());
  for (const into of [reaching, reach.any]) addAll(into, killing);
  // Access to the open schemas of `system` follows from all other access.
  proveCatalog(SYSTEM, reach, ExpectedScope.top(reach, withOpenSchemas(said.system, membersOf(reaching))));
  return reaching;

  function newReach(isSystem = false): ExpectedReach {
    engine.spend(people.count);
    return new ExpectedReach(people.count, width, isSystem || snapshot.settings.readersMaintain);
  }

  function proveCatalog(catalog: string, reach: ExpectedReach, expected: ExpectedScope): void {
    const modes = engine.modes(catalog);
    // Privileges that the mode `read-only` takes still show columns (seen on 483): no rule may give them.
    const entering = { ...modes, all: modes.all.map((word, index) => word | wordAt(modes.readOnly, index)) };
    for (const schema of new Set([...expected.names(), ...engine.schemaNames(catalog), fresh])) {
      const actual = new SchemaTables(engine, catalog, schema, modes, entering);
      schemas.compare({ catalog, schema }, actual, expected.child(schema));
    }
    addAll(reach.any, routines.reaching(catalog));
    const fact = (mode: 'all' | 'read-only') => () => ({ about: 'catalog-mode', resource: { catalog }, mode }) as const;
    differences.compare(fact('all'), everyWord, modes.all, reach.beyondReading);
    differences.compare(fact('read-only'), everyWord, modes.readOnly, reach.onlyReading());
  }
}
