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
 * Compares the access to data by the rules and by the grants, for all users at all nodes that grants or rules name, and at one fresh name
 * for each level. The fresh name represents all other names, because rules cannot tell them apart.
 * @returns users who may execute queries: service accounts, and users to whom grants give at least one privilege that statements use
 */
export function proveData(
  engine: EngineSets,
  snapshot: Snapshot,
  principals: PrincipalIndex,
  { routines, engineHolders, queries }: Pick<RightSources, 'routines' | 'engineHolders' | 'queries'>,
  differences: Differences,
): Bitset {
  const { everyWordIndex, wordCount: wordsPerSet, universe, freshName } = engine;
  const usersWithAccess = bitset(wordsPerSet, principals.serviceAccounts);
  const schemaComparison = new SchemaComparison(engine, {
    compare: (...args) => differences.compare(...args),
    // Users with access on only one side are left out, because their whole access is reported as a difference already.
    usersToCompare: (ruleWord, grantWord) => ~(ruleWord ^ grantWord),
    maskUsersToCompare: (restrictedUsers) => restrictedUsers,
  });
  const entryTrees = entriesByNode(snapshot, principals);
  const root = new ExpectedScope(newReach(), entryTrees.root);
  const { metadataCatalog } = snapshot.settings;
  const closedCatalogs = metadataCatalog === null ? [] : [metadataCatalog];
  const namedCatalogs = [...root.childNames(), ...routines.nodes.flatMap((node) => node.catalog ?? [])].sort();
  for (const catalog of new Set([...namedCatalogs, ...engine.catalogNames(), ...closedCatalogs, freshName])) {
    if (catalog === SYSTEM) continue;
    const reach = newReach();
    const isClosed = catalog === metadataCatalog;
    proveCatalog(catalog, reach, isClosed ? new ExpectedScope(reach, undefined) : root.catalogScope(catalog, reach));
    addAll(usersWithAccess, reach.usersWithAccess);
  }
  const systemReach = newReach(true);
  const systemScope = new ExpectedScope(systemReach, entryTrees.system);
  for (const name of systemScope.childNames()) {
    const schema = systemScope.childScope(name);
    for (const table of schema.childNames()) schema.accessAt(table, everyWordIndex);
  }
  addAll(usersWithAccess, systemReach.usersWithAccess);
  const reach = newReach(true);
  for (const [privilege, users] of engineHolders)
    if (PRIVILEGE_TERMS[privilege].isUsedByStatements) addAll(usersWithAccess, users);
  const killQueryCallers = routines.killQueryCallers(queries.queryKillers());
  for (const users of [usersWithAccess, reach.usersWithAccess]) addAll(users, killQueryCallers);
  // `system` comes last, because users with any other access can read some of its schemas.
  proveCatalog(SYSTEM, reach, new ExpectedScope(reach, withOpenSchemas(entryTrees.system, membersOf(usersWithAccess))));
  return usersWithAccess;

  function newReach(isSystem = false): ExpectedReach {
    engine.spend(universe.count);
    return new ExpectedReach(universe.count, wordsPerSet, isSystem || snapshot.settings.readersMaintain);
  }

  function proveCatalog(catalog: string, reach: ExpectedReach, expectedScope: ExpectedScope): void {
    const modes = engine.usersByMode(catalog);
    // Users with the mode `read-only` are compared as if they had `all`: a privilege such as INSERT shows them columns even without `all` (seen on 483).
    const tableModes = { ...modes, all: modes.all.map((word, index) => word | wordAt(modes.readOnly, index)) };
    for (const schema of new Set([...expectedScope.childNames(), ...engine.schemaNames(catalog), freshName])) {
      const actualTables = new SchemaTables(engine, catalog, schema, modes, tableModes);
      schemaComparison.compare({ catalog, schema }, actualTables, expectedScope.childScope(schema));
    }
    addAll(reach.usersWithAccess, routines.usersWithRoutines(catalog));
    const modeFact = (mode: 'all' | 'read-only') => () =>
      ({ about: 'catalog-mode', resource: { catalog }, mode }) as const;
    differences.compare(modeFact('all'), everyWordIndex, modes.all, reach.usersBeyondReading);
    differences.compare(modeFact('read-only'), everyWordIndex, modes.readOnly, reach.usersOnlyReading());
  }
}
