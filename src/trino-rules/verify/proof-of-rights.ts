import type { EngineSets } from '../engine/engine-sets.js';
import { MARKER } from '../document/rules-document.js';
import { everyRight, holders, type Right } from '../engine/rights.js';
import { wordAt, bitset, type Bitset } from '../engine/sparse-bitset.js';
import { onlyFreshName } from '../engine/unnamed.js';
import type { Privilege } from '../model/privilege.js';
import { isKilling } from '../model/granted-right.js';
import { KILL_QUERY } from '../model/node.js';
import { canBeImpersonated } from '../model/acting.js';
import type { Snapshot } from '../model/snapshot.js';
import type { Differences } from './differences.js';
import type { ExpectedActing } from './expected-acting.js';
import type { ExpectedQueries } from './expected-queries.js';
import type { ExpectedRoutines } from './expected-routines.js';
import type { PrincipalIndex } from './principal-index.js';

/**
 * Queries, impersonation, functions, procedures and session properties, for all users.
 * @param by what rights follow from
 */
export function proveRights(
  engine: EngineSets,
  snapshot: Snapshot,
  principals: PrincipalIndex,
  by: RightSources,
  differences: Differences,
): void {
  const expected = new ExpectedRights(engine, snapshot, principals, by);
  const asked = {
    properties: snapshot.settings.sessionProperties,
    routines: [...by.routines.nodes, KILL_QUERY],
    isByOwner: by.queries.isByOwner,
  };
  for (const right of everyRight([engine], asked, onlyFreshName(engine.patterns))) {
    differences.compare(() => right, engine.everyWord, holders(engine, right), expected.holders(right));
  }
}

interface RightSources {
  /** Users that reach anything: see `proveData`. */
  reaching: Bitset;
  routines: ExpectedRoutines;
  /** By their privileges on the engine. */
  onEngine: ReadonlyMap<Privilege, Bitset>;
  queries: ExpectedQueries;
  acting: ExpectedActing;
}

class ExpectedRights {
  private readonly reaching: Bitset;
  private readonly routines: ExpectedRoutines;
  private readonly onEngine: ReadonlyMap<Privilege, Bitset>;
  private readonly queries: ExpectedQueries;
  private readonly acting: ExpectedActing;
  private readonly own: Bitset;
  private readonly serviceAccounts: Bitset;
  private readonly activePeople: Bitset;
  /** Catalogs whose session properties are the service accounts' to set. */
  private readonly theirs: ReadonlySet<string>;
  private readonly live: string | undefined;

  constructor(
    private readonly engine: EngineSets,
    private readonly snapshot: Snapshot,
    principals: PrincipalIndex,
    { reaching, routines, onEngine, queries, acting }: RightSources,
  ) {
    this.reaching = reaching;
    this.routines = routines;
    this.onEngine = onEngine;
    this.queries = queries;
    this.acting = acting;
    const { width, people, rules } = engine;
    const { ownAccount, writableCatalogs, readableCatalogs, metadataCatalog } = snapshot.settings;
    this.own = bitset(width, people.named(ownAccount));
    this.serviceAccounts = bitset(width, principals.serviceAccounts);
    this.activePeople = bitset(width, principals.activePeople);
    const closed = [metadataCatalog, 'system'];
    this.theirs = new Set([...writableCatalogs, ...readableCatalogs].filter((catalog) => !closed.includes(catalog)));
    // Which version it marks is not a matter of access; that only one is marked is.
    this.live = rules.system_session_properties.find(
      ({ property, allow }) => allow && property?.startsWith(MARKER) === true,
    )?.property;
  }

  /** Null: no user. */
  holders(right: Right): Bitset | null {
    switch (right.about) {
      case 'queries':
        return right.right === 'execute' ? this.reaching : this.overQueries(OF_QUERIES[right.right], right.owner);
      case 'impersonation':
        return this.actingAs(right.newUser);
      case 'routine':
        return isKilling(right)
          ? this.routines.killing(this.queries.killing())
          : this.routines.holders(right, right.resource);
      case 'system-information':
        return this.holding(OF_SYSTEM_INFORMATION[right.right]);
      case 'session-property':
        return right.catalog === null
          ? this.systemProperty(right.property)
          : this.theirs.has(right.catalog)
            ? this.serviceAccounts
            : null;
    }
  }

  private holding(privilege: Privilege): Bitset | null {
    return this.onEngine.get(privilege) ?? null;
  }

  /** Of an owner's queries; of those of a name that nothing knows. One's own the engine opens without asking. */
  private overQueries(privilege: Privilege, owner: string | undefined): Bitset | null {
    const owners = owner === undefined ? [] : this.engine.people.named(owner);
    const users = this.queries.holders(privilege, owners);
    if (users === null || owners.length === 0) return users;
    const own = bitset(this.engine.width, owners);
    return users.map((word, index) => word & ~wordAt(own, index));
  }

  /** Two users of one name, which a finding refuses, are acted as by the same. */
  private actingAs(newUser: string): Bitset | null {
    const own = this.mayBecome(newUser) ? this.own : null;
    const sets = this.engine.people.named(newUser).flatMap((position) => this.acting.holders(position) ?? []);
    return [...(own === null ? [] : [own]), ...sets].reduce<Bitset | null>(union, null);
  }

  /** Without a grant, Grantline's own account becomes active users with any access. */
  private mayBecome(newUser: string): boolean {
    const isPerson = this.engine.people
      .named(newUser)
      .some((position) => has(this.activePeople, position) && has(this.reaching, position));
    return this.snapshot.settings.impersonation && isPerson && canBeImpersonated(newUser);
  }

  /** The marker is the own account's; else service accounts may set everything, insiders what the settings list. */
  private systemProperty(property: string): Bitset | null {
    if (property.startsWith(MARKER)) return property === this.live ? this.own : null;
    const isOpen = this.snapshot.settings.sessionProperties.includes(property);
    // Service accounts reach something, always.
    return isOpen ? this.reaching : this.serviceAccounts;
  }
}

const OF_QUERIES = { view: 'VIEW_QUERIES', kill: 'KILL_QUERIES' } as const;
const OF_SYSTEM_INFORMATION = { read: 'READ_SYSTEM_INFORMATION', write: 'WRITE_SYSTEM_INFORMATION' } as const;

function union(some: Bitset | null, others: Bitset): Bitset {
  return some === null ? others : some.map((word, index) => word | wordAt(others, index));
}

function has(words: Bitset, position: number): boolean {
  return (wordAt(words, position >>> 5) & (1 << (position & 31))) !== 0;
}
