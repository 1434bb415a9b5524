import { getOrInsert } from '../../kernel/collections.js';
import { principalIn, mapPrincipal, type NamedNode, type Node } from './node.js';
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
export type AppliesThrough = 'directly' | 'everyone' | { group: SnapshotGroup };

/** A principal with a name on the engine. */
export type Member = Exclude<NamedPrincipal, { type: 'group' }>;

/** Members by `principalText`. */
export type Members = ReadonlyMap<string, Member>;

/** Resolves principals of a snapshot to their members. Compiler and proof each have their own resolver (record 0006). */
export class Principals {
  private readonly users: ReadonlyMap<number, Snapshot['users'][number]>;
  private readonly groups: ReadonlyMap<number, SnapshotGroup>;
  private readonly membersByPrincipal = new Map<string, Members>();
  private readonly ownersByPrincipal = new Map<string, Members>();
  /** Engine principals that are members of everyone: by a grant (the value) or, with null, by a group. */
  private readonly knownEngines = new Map<string, SnapshotGrant | null>();
  /** One live grant of each engine principal, if possible outside the metadata catalog. */
  private readonly representativeGrants = new Map<string, SnapshotGrant>();
  /** Engine principals with a live grant of IMPERSONATE. */
  readonly impersonators: ReadonlySet<string>;

  /** @param assumedEngines engine principals that count as members of everyone although they have no grant yet, to judge a grant before it is made */
  constructor(
    readonly snapshot: Snapshot,
    private readonly assumedEngines: readonly string[] = [],
  ) {
    this.users = rowsById(snapshot.users);
    this.groups = rowsById(snapshot.groups);
    for (const name of snapshot.groups.flatMap(({ engines }) => engines))
      if (!isServiceAccount(snapshot, { type: 'engine', name })) this.knownEngines.set(name, null);
    const impersonators = new Set<string>();
    this.impersonators = impersonators;
    for (const grant of snapshot.grants) {
      const { principal } = grant;
      if (principal.type !== 'engine' || !isLive(grant, snapshot.at) || isServiceAccount(snapshot, principal)) continue;
      const nodePrincipal = principalIn(grant.resource);
      const namesMissingPrincipal = nodePrincipal !== undefined && !this.exists(nodePrincipal);
      if (grant.resource.as !== undefined && !namesMissingPrincipal) impersonators.add(principal.name);
      if (this.knownEngines.get(principal.name) || namesMissingPrincipal) continue;
      getOrInsert(this.representativeGrants, principal.name, () => grant);
      if (grant.resource.catalog === snapshot.settings.metadataCatalog) continue;
      this.knownEngines.set(principal.name, grant);
      this.representativeGrants.set(principal.name, grant);
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
    const user = this.snapshot.users.find((account) => account.name === name);
    return user === undefined ? null : { type: 'user', id: user.id };
  }

  /** The members of a principal: active accounts and engine principals, without service accounts. */
  members(principal: PolicyPrincipal): Members {
    return getOrInsert(this.membersByPrincipal, principalText(principal), () => this.resolve(principal));
  }

  /** The members who can own queries. Includes deactivated accounts, because their running queries continue. */
  owners(principal: PolicyPrincipal): Members {
    return getOrInsert(this.ownersByPrincipal, principalText(principal), () => this.resolve(principal, true));
  }

  membersOf({ principal, except }: SnapshotPolicy): Members {
    const exceptions = except.map((exception) => this.members(exception));
    return new Map([...this.members(principal)].filter(([text]) => !exceptions.some((members) => members.has(text))));
  }

  /** How a grant for `entryPrincipal` applies to `principal`; null: not at all. A group counts like a user in this group alone. */
  appliesThrough(entryPrincipal: PolicyPrincipal, principal: Principal): AppliesThrough | null {
    if (principal.type === 'group') {
      if (entryPrincipal.type === 'everyone') return this.groups.has(principal.id) ? 'everyone' : null;
      return entryPrincipal.type === 'group' && entryPrincipal.id === principal.id ? 'directly' : null;
    }
    if (!this.members(entryPrincipal).has(principalText(principal))) return null;
    if (entryPrincipal.type !== 'group') return entryPrincipal.type === 'everyone' ? 'everyone' : 'directly';
    const group = this.groups.get(entryPrincipal.id);
    return group === undefined ? null : { group };
  }

  /** How a policy or a guarantee applies to a principal; null: not at all, or the principal is an exception. */
  policyAppliesThrough(
    { principal: entryPrincipal, except }: { principal: PolicyPrincipal; except: readonly PolicyPrincipal[] },
    principal: Principal,
  ): AppliesThrough | null {
    return except.some((exception) => this.appliesThrough(exception, principal) !== null)
      ? null
      : this.appliesThrough(entryPrincipal, principal);
  }

  /** Whether the snapshot has this account or group. Engine principals always exist, except service accounts. */
  exists(principal: PolicyPrincipal): boolean {
    if (principal.type === 'user') return this.users.has(principal.id);
    return principal.type === 'group' ? this.groups.has(principal.id) : !isServiceAccount(this.snapshot, principal);
  }

  principalWithName(principal: Principal): NamedPrincipal;
  principalWithName(principal: PolicyPrincipal): NamedPolicyPrincipal;
  principalWithName(principal: PolicyPrincipal): NamedPolicyPrincipal {
    if (!hasId(principal)) return principal;
    const principalRow = principal.type === 'user' ? this.user(principal.id) : this.group(principal.id);
    return { ...principal, name: principalRow?.name ?? '' };
  }

  nodeWithName(node: Node): NamedNode {
    return mapPrincipal(node, (principal) => this.principalWithName(principal));
  }

  /** The given grants. If needed, also the grants that make engine principals members of everyone. */
  withEngineGrants(
    grants: readonly SnapshotGrant[],
    policies: readonly SnapshotPolicy[],
    needsEveryone = dependsOnEveryone(grants, policies),
  ): SnapshotGrant[] {
    return needsEveryone ? [...new Set([...grants, ...this.representativeGrants.values()])] : [...grants];
  }

  private resolve(principal: PolicyPrincipal, includesInactive = false): Members {
    return new Map(this.listMembers(principal, includesInactive).map((member) => [principalText(member), member]));
  }

  private listMembers(principal: PolicyPrincipal, includesInactive: boolean): Member[] {
    const accountsOf = (ids: Iterable<number>): Member[] =>
      [...ids].flatMap((id) => {
        const user = this.users.get(id);
        return user !== undefined && (includesInactive || user.isActive) ? [{ type: 'user', id, name: user.name }] : [];
      });
    switch (principal.type) {
      case 'everyone': {
        const names = new Set([...this.knownEngines.keys(), ...this.assumedEngines]);
        return [...accountsOf(this.users.keys()), ...[...names].map((name): Member => ({ type: 'engine', name }))];
      }
      case 'user':
        return accountsOf([principal.id]);
      case 'group': {
        const group = this.groups.get(principal.id);
        const memberEngines = (group?.engines ?? []).flatMap((name) => this.engineMembers(name));
        return [...accountsOf(group?.members ?? []), ...memberEngines];
      }
      case 'engine':
        return this.engineMembers(principal.name);
    }
  }

  private engineMembers(name: string): Member[] {
    return isServiceAccount(this.snapshot, { type: 'engine', name }) ? [] : [{ type: 'engine', name }];
  }
}

function rowsById<T extends { id: number }>(rows: readonly T[]): ReadonlyMap<number, T> {
  return new Map(rows.map((row) => [row.id, row]));
}

/** Whether the members of `everyone` can matter for these grants or policies. */
export function dependsOnEveryone(grants: readonly SnapshotGrant[], policies: readonly SnapshotPolicy[]): boolean {
  const isOnEverybodysQueries = ({ resource: { queries } }: SnapshotGrant | SnapshotPolicy): boolean =>
    queries?.type === 'everyone';
  return (
    grants.some(
      (grant) => grant.principal.type === 'everyone' || grant.resource.as !== undefined || isOnEverybodysQueries(grant),
    ) || policies.some(isOnEverybodysQueries)
  );
}

export function isServiceAccount({ settings }: Pick<Snapshot, 'settings'>, principal: PolicyPrincipal): boolean {
  return principal.type === 'engine' && settings.serviceAccounts.includes(principal.name);
}
