import { getOrInsert } from '../../kernel/collections.js';
import { type PolicyPrincipal, type Principal, principalText } from '../model/principal.js';
import { isKillQuery, kindOf, type Node, nodeKey, nodeOf, pathTo } from '../model/node.js';
import { Principals } from '../model/principals.js';
import { isOverRoutines, type Privilege, PRIVILEGE_TERMS } from '../model/privilege.js';
import { baseNodes, sharesFiles, whereRestricted } from '../model/restrictions.js';
import type { Snapshot, SnapshotGrant, SnapshotGroup, SnapshotPolicy } from '../model/snapshot.js';

interface Entries {
  grants: SnapshotGrant[];
  policies: SnapshotPolicy[];
}

/**
 * The entries of a snapshot by principal and by node. Both narrowings are snapshots themselves, so that the specification
 * (`model/`) answers on them as on the whole, only faster.
 */
export class AccessIndex {
  private readonly byPrincipal = new Map<string, Entries>();
  private readonly byNode = new Map<string, Entries>();
  /** About the queries of some: which of them reach a node depends on who is in the groups that they name. */
  private readonly ofQueries = noEntries();
  /** By catalog. */
  private readonly policiesIn = new Map<string, SnapshotPolicy[]>();
  /** By the texts of their members. */
  private readonly groupsOf = new Map<string, SnapshotGroup[]>();
  readonly principals: Principals;

  constructor(readonly snapshot: Snapshot) {
    const at = (index: Map<string, Entries>, key: string) => getOrInsert(index, key, noEntries);
    for (const grant of snapshot.grants) {
      at(this.byPrincipal, principalText(grant.principal)).grants.push(grant);
      at(this.byNode, nodeKey(grant.resource)).grants.push(grant);
      if (grant.resource.queries !== undefined) this.ofQueries.grants.push(grant);
    }
    for (const policy of snapshot.policies) {
      at(this.byPrincipal, principalText(policy.principal)).policies.push(policy);
      at(this.byNode, nodeKey(policy.resource)).policies.push(policy);
      if (policy.resource.queries !== undefined) this.ofQueries.policies.push(policy);
      const { catalog } = policy.resource;
      if (catalog !== undefined) getOrInsert(this.policiesIn, catalog, () => []).push(policy);
    }
    for (const group of snapshot.groups) {
      const members: Principal[] = [
        ...group.members.map((id) => ({ type: 'user', id }) as const),
        ...group.engines.map((name) => ({ type: 'engine', name }) as const),
      ];
      for (const member of members) getOrInsert(this.groupsOf, principalText(member), () => []).push(group);
    }
    this.principals = new Principals(snapshot);
  }

  /** With the entries that name this principal, one of its groups or everyone; of its groups it is the only member. */
  of(principal: Principal): Snapshot {
    const own = principal.type === 'group' ? {} : onlyMember(principal);
    const groups = this.groupsWith(principal).map((group) => ({ ...group, ...own }));
    const named = ['everyone', principalText(principal), ...groups.map(({ id }) => `group:${id}`)];
    const entries = [...new Set(named)].map((text) => this.byPrincipal.get(text) ?? noEntries());
    const user = principal.type === 'user' ? this.principals.user(principal.id) : undefined;
    return this.narrowed(entries, { users: user ? [user] : [], groups });
  }

  /** With the entries that name this node or one above it, and the policies elsewhere that a right given there yields to. */
  onPath(node: Node): Snapshot {
    const isOfQueries = node.queries !== undefined || isKillQuery(node);
    const above = pathTo(node).filter(({ queries }) => queries === undefined);
    const path = above.map((each) => this.byNode.get(nodeKey(each)) ?? noEntries());
    if (isOfQueries) path.push(this.ofQueries);
    for (const base of baseNodes(node))
      path.push({ grants: [], policies: this.byNode.get(nodeKey(base))?.policies ?? [] });
    const yields =
      (kindOf(node) !== 'table' || sharesFiles(node, this.snapshot.settings)) && // at other tables, nothing that is held does
      path.some(({ grants }) => grants.some(({ privileges }) => privileges.some(yieldsElsewhere)));
    return this.narrowed(yields ? [...path, this.below(node, path)] : path, this.snapshot);
  }

  /** Policies of the node's catalog that are not on the path. */
  private below({ catalog }: Node, path: readonly Entries[]): Entries {
    const known = new Set(path.flatMap(({ policies }) => policies));
    const policies = catalog === undefined ? [] : (this.policiesIn.get(catalog) ?? []);
    return { grants: [], policies: policies.filter((policy) => !known.has(policy)) };
  }

  /** Nodes that grants and policies name, and schemas of which policies name a table, each once. */
  nodes(): Node[] {
    const found = new Map<string, Node>();
    for (const { grants, policies } of this.byNode.values()) {
      const [named] = [...policies, ...grants];
      const nodes = named === undefined ? [] : policies.length > 0 ? whereRestricted(named.resource) : [named.resource];
      for (const node of nodes) found.set(nodeKey(node), nodeOf(node));
    }
    return [...found.values()];
  }

  /** Groups that a principal is in, or the group itself. */
  groupsWith(principal: Principal): SnapshotGroup[] {
    if (principal.type !== 'group') return this.groupsOf.get(principalText(principal)) ?? [];
    const group = this.principals.group(principal.id);
    return group ? [group] : [];
  }

  private narrowed(entries: readonly Entries[], { users, groups }: Pick<Snapshot, 'users' | 'groups'>): Snapshot {
    const { settings, at } = this.snapshot;
    const policies = entries.flatMap((each) => each.policies).sort(byId);
    const named = entries.flatMap((each) => each.grants);
    const grants = this.principals.part(named, policies).sort(byId);
    // A grant of acting as somebody makes its holder known where there is such a row.
    const acting = this.rowsOf(grants.flatMap(({ resource: { as } }) => as ?? []));
    const owners = this.ownersIn([...grants, ...policies].flatMap(({ resource: { queries } }) => queries ?? []));
    return {
      users: joined(users, [...acting.users, ...owners.users]),
      groups:
        owners.groups.length === 0
          ? joined(groups, acting.groups)
          : joined(owners.groups, joined(groups, acting.groups)),
      ...{ grants, policies, settings, at },
    };
  }

  private rowsOf(named: readonly PolicyPrincipal[]): Pick<Snapshot, 'users' | 'groups'> {
    return {
      users: named.flatMap((each) => (each.type === 'user' ? (this.principals.user(each.id) ?? []) : [])),
      groups: named.flatMap((each) => (each.type === 'group' ? (this.principals.group(each.id) ?? []) : [])),
    };
  }

  /** Groups whole, because all their members' queries are meant. */
  private ownersIn(named: readonly PolicyPrincipal[]): Pick<Snapshot, 'users' | 'groups'> {
    if (named.some(({ type }) => type === 'everyone')) return this.snapshot;
    const { users, groups } = this.rowsOf(named);
    return {
      users: [...users, ...groups.flatMap(({ members }) => members.flatMap((id) => this.principals.user(id) ?? []))],
      groups,
    };
  }
}

/** Whether policies on nodes that it is not held at can take it. */
export function yieldsElsewhere(privilege: Privilege): boolean {
  return isOverRoutines(privilege) || PRIVILEGE_TERMS[privilege].yieldsToRestrictions;
}

function onlyMember(principal: Exclude<Principal, { type: 'group' }>): Pick<SnapshotGroup, 'members' | 'engines'> {
  return principal.type === 'user'
    ? { members: [principal.id], engines: [] }
    : { members: [], engines: [principal.name] };
}

/** Those that are there already stay as they are. */
function joined<T extends { id: number }>(rows: readonly T[], more: readonly T[]): readonly T[] {
  if (more.length === 0) return rows;
  return [...new Map([...more, ...rows].map((row) => [row.id, row])).values()];
}

function noEntries(): Entries {
  return { grants: [], policies: [] };
}

function byId(a: { id: number }, b: { id: number }): number {
  return a.id - b.id;
}
