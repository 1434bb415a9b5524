import { getOrInsert } from '../../kernel/collections.js';
import { namedBy, withNamed, type NamedNode, type Node } from './node.js';
import {
  hasId,
  type NamedPolicyPrincipal,
  type NamedPrincipal,
  type PolicyPrincipal,
  type Principal,
  principalText,
} from './principal.js';
import { isLive, type Snapshot, type SnapshotGrant, type SnapshotGroup, type SnapshotPolicy } from './snapshot.js';

/** How a grant or a policy applies to a principal. */
export type Through = 'directly' | 'everyone' | { group: SnapshotGroup };

/** A principal with a name on the engine. */
export type Member = Exclude<NamedPrincipal, { type: 'group' }>;

/** Members by `principalText`. */
export type Members = ReadonlyMap<string, Member>;

/** Resolves the principals that grants and policies of a snapshot name. Compiler and proof have resolvers of their own (record 0006). */
export class Principals {
  private readonly users: ReadonlyMap<number, Snapshot['users'][number]>;
  private readonly groups: ReadonlyMap<number, SnapshotGroup>;
  private readonly resolved = new Map<string, Members>();
  private readonly owning = new Map<string, Members>();
  /** Known engine principals, each with a live grant that makes it known; null: known only as a member of a group. */
  private readonly known = new Map<string, SnapshotGrant | null>();
  /** One live grant of each engine principal: if possible, a grant that makes the principal known. */
  private readonly naming = new Map<string, SnapshotGrant>();
  /** Engine principals with a live grant of IMPERSONATE. */
  readonly actors: ReadonlySet<string>;

  /** @param assumed engine principals that count as known without a grant, for questions about what would be */
  constructor(
    private readonly snapshot: Snapshot,
    private readonly assumed: readonly string[] = [],
  ) {
    this.users = byId(snapshot.users);
    this.groups = byId(snapshot.groups);
    for (const name of snapshot.groups.flatMap(({ engines }) => engines))
      if (!isServiceAccount(snapshot, { type: 'engine', name })) this.known.set(name, null);
    const actors = new Set<string>();
    this.actors = actors;
    for (const grant of snapshot.grants) {
      const { principal } = grant;
      if (principal.type !== 'engine' || !isLive(grant, snapshot.at) || isServiceAccount(snapshot, principal)) continue;
      const named = namedBy(grant.resource);
      const isOfNobody = named !== undefined && !this.exists(named);
      if (grant.resource.as !== undefined && !isOfNobody) actors.add(principal.name);
      if (this.known.get(principal.name) || isOfNobody) continue;
      getOrInsert(this.naming, principal.name, () => grant);
      if (grant.resource.catalog === snapshot.settings.metadataCatalog) continue;
      this.known.set(principal.name, grant);
      this.naming.set(principal.name, grant);
    }
  }

  user(id: number): Snapshot['users'][number] | undefined {
    return this.users.get(id);
  }

  group(id: number): SnapshotGroup | undefined {
    return this.groups.get(id);
  }

  /** The account of this name, also a deactivated one. */
  userNamed(name: string): Principal | null {
    const user = this.snapshot.users.find((each) => each.name === name);
    return user === undefined ? null : { type: 'user', id: user.id };
  }

  /** Active accounts and engine principals; never a service account, which follows the settings alone. */
  members(named: PolicyPrincipal): Members {
    return getOrInsert(this.resolved, principalText(named), () => byText(this.listed(named)));
  }

  /** Owners of queries: also deactivated accounts, because their running queries continue. */
  owners(named: PolicyPrincipal): Members {
    return getOrInsert(this.owning, principalText(named), () => byText(this.listed(named, true)));
  }

  membersOf({ principal, except }: SnapshotPolicy): Members {
    const excepted = except.map((named) => this.members(named));
    return new Map([...this.members(principal)].filter(([text]) => !excepted.some((members) => members.has(text))));
  }

  /** How an entry for `named` applies to `principal`; null: not at all. A group counts like a member that is in no other group. */
  through(named: PolicyPrincipal, principal: Principal): Through | null {
    if (principal.type === 'group') {
      if (named.type === 'everyone') return this.groups.has(principal.id) ? 'everyone' : null;
      return named.type === 'group' && named.id === principal.id ? 'directly' : null;
    }
    if (!this.members(named).has(principalText(principal))) return null;
    if (named.type !== 'group') return named.type === 'everyone' ? 'everyone' : 'directly';
    const group = this.groups.get(named.id);
    return group === undefined ? null : { group };
  }

  /** How a policy applies to a principal; null: not at all, or one of its exceptions names the principal. */
  throughPolicy({ principal: named, except }: SnapshotPolicy, principal: Principal): Through | null {
    return except.some((excepted) => this.through(excepted, principal) !== null)
      ? null
      : this.through(named, principal);
  }

  /** Whether there is such an account or group. An engine principal always exists, unless it is a service account. */
  exists(named: PolicyPrincipal): boolean {
    if (named.type === 'user') return this.users.has(named.id);
    return named.type === 'group' ? this.groups.has(named.id) : !isServiceAccount(this.snapshot, named);
  }

  named(principal: Principal): NamedPrincipal;
  named(principal: PolicyPrincipal): NamedPolicyPrincipal;
  named(principal: PolicyPrincipal): NamedPolicyPrincipal {
    if (!hasId(principal)) return principal;
    const row = principal.type === 'user' ? this.user(principal.id) : this.group(principal.id);
    return { ...principal, name: row?.name ?? '' };
  }

  namedNode(node: Node): NamedNode {
    return withNamed(node, (named) => this.named(named));
  }

  /** Adds one grant of each engine principal where everyone matters to these entries, so that everyone has the same members in this part. */
  part(
    grants: readonly SnapshotGrant[],
    policies: readonly SnapshotPolicy[],
    isForAll = isAboutEveryone(grants, policies),
  ): SnapshotGrant[] {
    return isForAll ? [...new Set([...grants, ...this.naming.values()])] : [...grants];
  }

  private listed(named: PolicyPrincipal, isAlsoInactive = false): Member[] {
    const accounts = (ids: Iterable<number>): Member[] => this.accounts(ids, isAlsoInactive);
    switch (named.type) {
      case 'everyone': {
        const engines = new Set([...this.known.keys(), ...this.assumed]);
        return [...accounts(this.users.keys()), ...[...engines].map((name): Member => ({ type: 'engine', name }))];
      }
      case 'user':
        return accounts([named.id]);
      case 'group': {
        const group = this.groups.get(named.id);
        const engines = (group?.engines ?? []).flatMap((name) => this.engine(name));
        return [...accounts(group?.members ?? []), ...engines];
      }
      case 'engine':
        return this.engine(named.name);
    }
  }

  private engine(name: string): Member[] {
    return isServiceAccount(this.snapshot, { type: 'engine', name }) ? [] : [{ type: 'engine', name }];
  }

  private accounts(ids: Iterable<number>, isAlsoInactive: boolean): Member[] {
    return [...ids].flatMap((id): Member[] => {
      const user = this.users.get(id);
      return user !== undefined && (isAlsoInactive || user.isActive) ? [{ type: 'user', id, name: user.name }] : [];
    });
  }
}

function byId<T extends { id: number }>(rows: readonly T[]): ReadonlyMap<number, T> {
  return new Map(rows.map((row) => [row.id, row]));
}

function byText(members: readonly Member[]): Members {
  return new Map(members.map((member) => [principalText(member), member]));
}

/** Whether the members of everyone matter to these entries, as they also do for impersonation. */
export function isAboutEveryone(grants: readonly SnapshotGrant[], policies: readonly SnapshotPolicy[]): boolean {
  const isOfEveryone = ({ resource: { queries } }: SnapshotGrant | SnapshotPolicy): boolean =>
    queries?.type === 'everyone';
  return (
    grants.some(
      (grant) => grant.principal.type === 'everyone' || grant.resource.as !== undefined || isOfEveryone(grant),
    ) || policies.some(isOfEveryone)
  );
}

export function isServiceAccount({ settings }: Pick<Snapshot, 'settings'>, principal: PolicyPrincipal): boolean {
  return principal.type === 'engine' && settings.serviceAccounts.includes(principal.name);
}
