import type { EngineSets } from '../engine/engine-sets.js';
import { MARKER_PREFIX } from '../document/rules-document.js';
import { everyRight, holders, type Right } from '../engine/rights.js';
import { addAll, bitset, isMember, removeAll, type Bitset } from '../engine/sparse-bitset.js';
import { freshNameChooser } from '../engine/rule-trie.js';
import { isRoutinePrivilege, type Privilege } from '../model/privilege.js';
import { callsKillQuery } from '../model/rights.js';
import { KILL_QUERY } from '../model/node.js';
import { isReplacementSafe } from '../model/named-others.js';
import type { Snapshot } from '../model/snapshot.js';
import type { Differences } from './counterexample.js';
import type { ExpectedImpersonation, ExpectedQueries } from './expected-engine.js';
import type { ExpectedRoutines } from './expected-routines.js';
import type { PrincipalIndex } from './principal-index.js';

/** Compares the rights that rules and grants give: over queries, impersonation, functions, procedures and session properties, for all users. */
export function proveRights(
  engine: EngineSets,
  snapshot: Snapshot,
  principals: PrincipalIndex,
  sources: RightSources,
  differences: Differences,
): void {
  const expectedRights = new ExpectedRights(engine, snapshot, principals, sources);
  const judgedScopes = (snapshot.guarantees ?? []).flatMap(({ scopes }) => scopes);
  const routineScopes = judgedScopes.filter(({ privileges }) => privileges.some(isRoutinePrivilege));
  const rightAdditions = {
    sessionProperties: snapshot.settings.sessionProperties,
    routines: [...sources.routines.nodes, KILL_QUERY, ...routineScopes.map(({ resource }) => resource)],
    asksOwners: sources.queries.hasOwnerEntries || judgedScopes.some(({ resource }) => resource.queries !== undefined),
  };
  for (const right of everyRight([engine], rightAdditions, freshNameChooser(engine.patterns))) {
    differences.compare(() => right, engine.everyWordIndex, holders(engine, right), expectedRights.holders(right));
  }
}

export interface RightSources {
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
