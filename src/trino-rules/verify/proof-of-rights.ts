import type { EngineSets } from '../engine/engine-sets.js';
import { MARKER } from '../document/rules-document.js';
import { everyRight, holders, type Right } from '../engine/rights.js';
import { addAll, bitset, removeAll, wordAt, type Bitset } from '../engine/sparse-bitset.js';
import { onlyFreshName } from '../engine/rule-trie.js';
import { isOverRoutines, type Privilege } from '../model/privilege.js';
import { isKilling } from '../model/rights.js';
import { KILL_QUERY } from '../model/node.js';
import { canBeImpersonated } from '../model/named-others.js';
import type { Snapshot } from '../model/snapshot.js';
import type { Differences } from './counterexample.js';
import type { ExpectedActing, ExpectedQueries } from './expected-engine.js';
import type { ExpectedRoutines } from './expected-routines.js';
import type { PrincipalIndex } from './principal-index.js';

/** Proves queries, impersonation, functions, procedures and session properties, for all users. */
export function proveRights(
  engine: EngineSets,
  snapshot: Snapshot,
  principals: PrincipalIndex,
  by: RightSources,
  differences: Differences,
): void {
  const expected = new ExpectedRights(engine, snapshot, principals, by);
  const judged = (snapshot.guarantees ?? []).flatMap(({ scopes }) => scopes);
  const ofRoutines = judged.filter(({ privileges }) => privileges.some(isOverRoutines));
  const asked = {
    properties: snapshot.settings.sessionProperties,
    routines: [...by.routines.nodes, KILL_QUERY, ...ofRoutines.map(({ resource }) => resource)],
    isByOwner: by.queries.isByOwner || judged.some(({ resource }) => resource.queries !== undefined),
  };
  for (const right of everyRight([engine], asked, onlyFreshName(engine.patterns))) {
    differences.compare(() => right, engine.everyWord, holders(engine, right), expected.holders(right));
  }
}

/** Rights by the grants, and users with access. */
export interface RightSources {
  /** Users with access to anything: see `proveData`. */
  reaching: Bitset;
  routines: ExpectedRoutines;
  /** Users by privilege on the engine. */
  onEngine: ReadonlyMap<Privilege, Bitset>;
  queries: ExpectedQueries;
  acting: ExpectedActing;
}

class ExpectedRights {
  private readonly own: Bitset;
  private readonly serviceAccounts: Bitset;
  private readonly activePeople: Bitset;
  /** Catalogs whose session properties service accounts may set. */
  private readonly served: ReadonlySet<string>;
  private readonly live: string | undefined;

  constructor(
    private readonly engine: EngineSets,
    private readonly snapshot: Snapshot,
    principals: PrincipalIndex,
    private readonly by: RightSources,
  ) {
    const { width, people, rules } = engine;
    const { ownAccount, writableCatalogs, readableCatalogs, metadataCatalog } = snapshot.settings;
    this.own = bitset(width, people.named(ownAccount));
    this.serviceAccounts = bitset(width, principals.serviceAccounts);
    this.activePeople = bitset(width, principals.activePeople);
    const closed = [metadataCatalog, 'system'];
    this.served = new Set([...writableCatalogs, ...readableCatalogs].filter((catalog) => !closed.includes(catalog)));
    // Any version may be in the marker, but the rules may allow only one marker.
    this.live = rules.system_session_properties.find(
      ({ property, allow }) => allow && property?.startsWith(MARKER) === true,
    )?.property;
  }

  /** Null: no user. */
  holders(right: Right): Bitset | null {
    switch (right.about) {
      case 'queries':
        return right.right === 'execute' ? this.by.reaching : this.overQueries(OF_QUERIES[right.right], right.owner);
      case 'impersonation':
        return this.actingAs(right.newUser);
      case 'routine':
        return isKilling(right)
          ? this.by.routines.killing(this.by.queries.killing())
          : this.by.routines.holders(right, right.resource);
      case 'system-information':
        return this.by.onEngine.get(OF_SYSTEM_INFORMATION[right.right]) ?? null;
      case 'session-property':
        return right.catalog === null
          ? this.systemProperty(right.property)
          : this.served.has(right.catalog)
            ? this.serviceAccounts
            : null;
    }
  }

  /** Users with a right over the queries of one owner, or of an unknown one. One's own queries need no rule. */
  private overQueries(privilege: Privilege, owner: string | undefined): Bitset {
    const owners = owner === undefined ? [] : this.engine.people.named(owner);
    const users = this.by.queries.holders(privilege, owners);
    removeAll(users, bitset(this.engine.width, owners));
    return users;
  }

  /** Users who may impersonate `newUser`: if two users share the name, any of the two. */
  private actingAs(newUser: string): Bitset {
    const users = this.mayBecome(newUser) ? this.own.slice() : new Uint32Array(this.engine.width);
    for (const position of this.engine.people.named(newUser)) addAll(users, this.by.acting.holders(position));
    return users;
  }

  /** Whether Grantline's own account may impersonate a user: an active one with any access. */
  private mayBecome(newUser: string): boolean {
    const isPerson = this.engine.people
      .named(newUser)
      .some((position) => has(this.activePeople, position) && has(this.by.reaching, position));
    return this.snapshot.settings.impersonation && isPerson && canBeImpersonated(newUser);
  }

  /** The own account may set the marker, service accounts all other properties, users with access those of the settings. */
  private systemProperty(property: string): Bitset | null {
    if (property.startsWith(MARKER)) return property === this.live ? this.own : null;
    const isOpen = this.snapshot.settings.sessionProperties.includes(property);
    // Service accounts always have access.
    return isOpen ? this.by.reaching : this.serviceAccounts;
  }
}

const OF_QUERIES = { view: 'VIEW_QUERIES', kill: 'KILL_QUERIES' } as const;
const OF_SYSTEM_INFORMATION = { read: 'READ_SYSTEM_INFORMATION', write: 'WRITE_SYSTEM_INFORMATION' } as const;

function has(words: Bitset, position: number): boolean {
  return (wordAt(words, position >>> 5) & (1 << (position & 31))) !== 0;
}
