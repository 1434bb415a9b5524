import type { EngineSets } from '../engine/engine-sets.js';
import { MARKER_PREFIX } from '../document/rules-document.js';
import { everyRight, holders, type Right } from '../engine/rights.js';
import { addAll, bitset, isMember, removeAll, type Bitset, membersOf, wordAt } from '../engine/sparse-bitset.js';
import { freshNameChooser } from '../engine/rule-trie.js';
import { isRoutinePrivilege, type Privilege, PRIVILEGE_TERMS } from '../model/privilege.js';
import { callsKillQuery } from '../model/rights.js';
import { KILL_QUERY, SYSTEM } from '../model/node.js';
import { isReplacementSafe } from '../model/named-others.js';
import type { Snapshot } from '../model/snapshot.js';
import type { Finding } from '../document/finding.js';
import { Counterexamples, Differences } from './counterexample.js';
import type { GuaranteeJudge } from './guarantee-judge.js';
import { ExpectedImpersonation, expectedEngineRights, ExpectedQueries, ExpectedRoutines } from './expected-rights.js';
import type { PrincipalIndex } from './principal-index.js';
import { SchemaComparison } from '../engine/schema-comparison.js';
import { SchemaTables } from '../engine/schema-tables.js';
import { entriesByNode, withOpenSchemas } from './access-entries.js';
import { ExpectedReach, ExpectedScope } from './expected-scope.js';

/** Limit of the reported differences. A final finding gives the number of the others. */
const MAX_COUNTEREXAMPLES = 20;

/**
 * Proves that the rules give exactly the access of the snapshot. One invented name stands for everybody whom no pattern lists. Each
 * difference is an error with a counterexample.
 * @param engine its users must begin with those of `principals`, in the same order
 * @param judge receives all access by the rules; null: there are no guarantees
 */
export function prove(
  engine: EngineSets,
  snapshot: Snapshot,
  principals: PrincipalIndex,
  judge: GuaranteeJudge | null = null,
): Finding[] {
  const strangers = engine.universe.strangers.map((name) => ({ kind: 'stranger', name }) as const);
  const differences = new Differences([...principals.subjects, ...strangers], MAX_COUNTEREXAMPLES, judge);
  const routines = new ExpectedRoutines(snapshot, principals, engine.wordCount);
  const engineHolders = expectedEngineRights(snapshot, principals, engine.wordCount);
  const queries = new ExpectedQueries(snapshot, principals, engine, engineHolders);
  const usersWithAccess = proveData(engine, snapshot, principals, { routines, engineHolders, queries }, differences);
  const impersonation = new ExpectedImpersonation(snapshot, principals, engine, isReplacementSafe);
  const sources = { usersWithAccess, routines, engineHolders, queries, impersonation };
  const expectedRights = new ExpectedRights(engine, snapshot, principals, sources);
  const judgedScopes = (snapshot.guarantees ?? []).flatMap(({ scopes }) => scopes);
  const routineScopes = judgedScopes.filter(({ privileges }) => privileges.some(isRoutinePrivilege));
  const rightAdditions = {
    sessionProperties: snapshot.settings.sessionProperties,
    routines: [...routines.nodes, KILL_QUERY, ...routineScopes.map(({ resource }) => resource)],
    asksOwners: queries.hasOwnerEntries || judgedScopes.some(({ resource }) => resource.queries !== undefined),
  };
  for (const right of everyRight([engine], rightAdditions, freshNameChooser(engine.patterns)))
    differences.compare(() => right, engine.everyWordIndex, holders(engine, right), expectedRights.holders(right));
  return findingsOf(differences, engine, snapshot);
}

function findingsOf(differences: Differences, { rules, patterns }: EngineSets, snapshot: Snapshot): Finding[] {
  const { reportedDifferences, differenceCount: total } = differences;
  const counterexamples = new Counterexamples(rules, snapshot, patterns);
  const findings = reportedDifferences.map((difference) => counterexamples.findingFor(difference));
  if (total <= reportedDifferences.length) return findings;
  const message = `${total - reportedDifferences.length} more differences between the rules and the grants are not listed`;
  return [...findings, { code: 'proof-difference', severity: 'error', message }];
}

/**
 * Compares the access to data by the rules and by the grants, for all users at all nodes that grants or rules name, and at one fresh name
 * for each level. The fresh name represents all other names, because rules cannot tell them apart.
 * @returns users who may execute queries: service accounts, and users to whom grants give at least one privilege that statements use
 */
function proveData(
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
    const onlyReaders = reach.usersWithAccess.map((word, index) => word & ~wordAt(reach.usersBeyondReading, index));
    differences.compare(modeFact('read-only'), everyWordIndex, modes.readOnly, onlyReaders);
  }
}

interface RightSources {
  /** Users who may execute queries: service accounts, and users with at least one privilege that statements use. */
  usersWithAccess: Bitset;
  routines: ExpectedRoutines;
  engineHolders: ReadonlyMap<Privilege, Bitset>;
  queries: ExpectedQueries;
  impersonation: ExpectedImpersonation;
}

class ExpectedRights {
  private readonly ownAccount: Bitset;
  private readonly serviceAccounts: Bitset;
  private readonly activePeople: Bitset;
  private readonly serviceCatalogs: ReadonlySet<string>;
  private readonly markerProperty: string | undefined;

  constructor(
    private readonly engine: EngineSets,
    private readonly snapshot: Snapshot,
    principals: PrincipalIndex,
    private readonly sources: RightSources,
  ) {
    const { wordCount: wordsPerSet, universe, rules } = engine;
    const { ownAccount, writableCatalogs, readableCatalogs, metadataCatalog } = snapshot.settings;
    this.ownAccount = bitset(wordsPerSet, universe.positionsOf(ownAccount));
    this.serviceAccounts = bitset(wordsPerSet, principals.serviceAccounts);
    this.activePeople = bitset(wordsPerSet, principals.activePeople);
    const closedCatalogs = [metadataCatalog, 'system'];
    this.serviceCatalogs = new Set(
      [...writableCatalogs, ...readableCatalogs].filter((catalog) => !closedCatalogs.includes(catalog)),
    );
    // The marker is the session property whose name has the hash of the version. The proof accepts any hash, but no second marker.
    this.markerProperty = rules.system_session_properties.find(
      ({ property, allow }) => allow && property?.startsWith(MARKER_PREFIX) === true,
    )?.property;
  }

  holders(right: Right): Bitset | null {
    switch (right.about) {
      case 'queries':
        return right.right === 'execute'
          ? this.sources.usersWithAccess
          : this.queryRightHolders(QUERY_PRIVILEGES[right.right], right.owner);
      case 'impersonation':
        return this.impersonatorsOf(right.newUser);
      case 'routine':
        return callsKillQuery(right)
          ? this.sources.routines.killQueryCallers(this.sources.queries.queryKillers())
          : this.sources.routines.holders(right, right.resource);
      case 'system-information':
        return this.sources.engineHolders.get(SYSTEM_INFORMATION_PRIVILEGES[right.right]) ?? null;
      case 'session-property':
        return right.catalog === null
          ? this.systemPropertyHolders(right.property)
          : this.serviceCatalogs.has(right.catalog)
            ? this.serviceAccounts
            : null;
    }
  }

  /** Users with a right over the queries of `owner` (undefined: an unknown owner). The owner is left out, because the owner needs no rule. */
  private queryRightHolders(privilege: Privilege, owner: string | undefined): Bitset {
    const owners = owner === undefined ? [] : this.engine.universe.positionsOf(owner);
    const users = this.sources.queries.holders(privilege, owners);
    removeAll(users, bitset(this.engine.wordCount, owners));
    return users;
  }

  private impersonatorsOf(newUser: string): Bitset {
    const users = this.ownAccountMayImpersonate(newUser)
      ? this.ownAccount.slice()
      : new Uint32Array(this.engine.wordCount);
    for (const position of this.engine.universe.positionsOf(newUser))
      addAll(users, this.sources.impersonation.holders(position));
    return users;
  }

  /** Whether Grantline's own account may impersonate a user: an active account with any access. */
  private ownAccountMayImpersonate(newUser: string): boolean {
    const isPerson = this.engine.universe
      .positionsOf(newUser)
      .some((position) => isMember(this.activePeople, position) && isMember(this.sources.usersWithAccess, position));
    return this.snapshot.settings.impersonation && isPerson && isReplacementSafe(newUser);
  }

  /** Users who may set a system session property. Only Grantline's own account may set the property that marks the version (`markerProperty`). */
  private systemPropertyHolders(property: string): Bitset | null {
    if (property.startsWith(MARKER_PREFIX)) return property === this.markerProperty ? this.ownAccount : null;
    const isListed = this.snapshot.settings.sessionProperties.includes(property);
    // Service accounts may set every property. `usersWithAccess` includes the service accounts.
    return isListed ? this.sources.usersWithAccess : this.serviceAccounts;
  }
}

const QUERY_PRIVILEGES = { view: 'VIEW_QUERIES', kill: 'KILL_QUERIES' } as const;
const SYSTEM_INFORMATION_PRIVILEGES = { read: 'READ_SYSTEM_INFORMATION', write: 'WRITE_SYSTEM_INFORMATION' } as const;
