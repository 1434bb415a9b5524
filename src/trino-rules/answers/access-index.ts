import { getOrInsert } from '../../kernel/collections.js';
import { type Principal, principalText } from '../model/principal.js';
import { isKillQuery, kindOf, type Node, nodeKey, nodeOf, pathTo } from '../model/node.js';
import { Principals } from '../model/principals.js';
import { isOverRoutines, type Privilege, PRIVILEGE_TERMS } from '../model/privilege.js';
import { baseNodes, sharesFiles, whereRestricted } from '../model/restrictions.js';
import type { Snapshot, SnapshotGrant, SnapshotGroup, SnapshotPolicy } from '../model/snapshot.js';

interface Entries {
  grants: SnapshotGrant[];
  policies: SnapshotPolicy[];
}

/** Indexes a snapshot by principal and by node. The specification (`model/`) gives equal answers for the parts of a snapshot, but faster. */
export class AccessIndex {
  private readonly byPrincipal = new Map<string, Entries>();
  private readonly byNode = new Map<string, Entries>();
  /** Entries about queries of some owners. Which of them apply at a node depends on the members of groups. */
  private readonly ofQueries = noEntries();
  /** Policies by catalog. */
  private readonly policiesIn = new Map<string, SnapshotPolicy[]>();
  /** Groups by `principalText` of their members. */
  private knownGroups: ReadonlyMap<string, SnapshotGroup[]> | null = null;

  /** @param principals the principals of this snapshot, or of a larger one that it is a part of */
  constructor(
    readonly snapshot: Snapshot,
    readonly principals = new Principals(snapshot),
  ) {
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
  }

  /** The part with entries for this principal, its groups and everyone. */
  of(principal: Principal): Snapshot {
    const named = ['everyone', principalText(principal), ...this.groupsWith(principal).map(({ id }) => `group:${id}`)];
    return this.narrowed([...new Set(named)].map((text) => this.byPrincipal.get(text) ?? noEntries()));
  }

  /** The part with entries at this node and above, and policies elsewhere that a right given there yields to. */
  onPath(node: Node): Snapshot {
    const isOfQueries = node.queries !== undefined || isKillQuery(node);
    const above = pathTo(node).filter(({ queries }) => queries === undefined);
    const path = above.map((each) => this.byNode.get(nodeKey(each)) ?? noEntries());
    if (isOfQueries) path.push(this.ofQueries);
    for (const base of baseNodes(node))
      path.push({ grants: [], policies: this.byNode.get(nodeKey(base))?.policies ?? [] });
    const yields =
      (kindOf(node) !== 'table' || sharesFiles(node, this.snapshot.settings)) && // no right at any other table yields
      path.some(({ grants }) => grants.some(({ privileges }) => privileges.some(yieldsElsewhere)));
    return this.narrowed(yields ? [...path, this.below(node, path)] : path);
  }

  /** Policies of the node's catalog that are not on the path. */
  private below({ catalog }: Node, path: readonly Entries[]): Entries {
    const known = new Set(path.flatMap(({ policies }) => policies));
    const policies = catalog === undefined ? [] : (this.policiesIn.get(catalog) ?? []);
    return { grants: [], policies: policies.filter((policy) => !known.has(policy)) };
  }

  /** Distinct nodes with entries, and schemas of tables with policies. */
  nodes(): Node[] {
    const found = new Map<string, Node>();
    for (const { grants, policies } of this.byNode.values()) {
      const [named] = [...policies, ...grants];
      const nodes = named === undefined ? [] : policies.length > 0 ? whereRestricted(named.resource) : [named.resource];
      for (const node of nodes) found.set(nodeKey(node), nodeOf(node));
    }
    return [...found.values()];
  }

  /** The groups of a principal, or the group itself. */
  groupsWith(principal: Principal): SnapshotGroup[] {
    this.knownGroups ??= groupsByMember(this.snapshot);
    if (principal.type !== 'group') return this.knownGroups.get(principalText(principal)) ?? [];
    const group = this.principals.group(principal.id);
    return group ? [group] : [];
  }

  private narrowed(entries: readonly Entries[]): Snapshot {
    const policies = entries.flatMap((each) => each.policies).sort(byId);
    return { ...this.snapshot, grants: entries.flatMap((each) => each.grants).sort(byId), policies };
  }
}

function groupsByMember({ groups }: Snapshot): ReadonlyMap<string, SnapshotGroup[]> {
  const byMember = new Map<string, SnapshotGroup[]>();
  for (const group of groups) {
    const members: Principal[] = [
      ...group.members.map((id) => ({ type: 'user', id }) as const),
      ...group.engines.map((name) => ({ type: 'engine', name }) as const),
    ];
    for (const member of members) getOrInsert(byMember, principalText(member), () => []).push(group);
  }
  return byMember;
}

/** Whether policies on other nodes can take a privilege. */
export function yieldsElsewhere(privilege: Privilege): boolean {
  return isOverRoutines(privilege) || PRIVILEGE_TERMS[privilege].yieldsToRestrictions;
}

function noEntries(): Entries {
  return { grants: [], policies: [] };
}

function byId(a: { id: number }, b: { id: number }): number {
  return a.id - b.id;
}

/**
 * A key that is equal for users with equal access by these indexes: no entry names these users, and they are in the same groups with
 * entries. Null for all other principals.
 * @param more further parts of the key, as JSON
 */
export function likenessIn(
  indexes: readonly AccessIndex[],
): (principal: Principal, more?: readonly unknown[]) => string | null {
  const entries = indexes.flatMap(({ snapshot: { grants, policies } }) => [...grants, ...policies]);
  const principals = entries.flatMap((entry) => [entry.principal, ...('except' in entry ? entry.except : [])]);
  const named = new Set(principals.map(principalText));
  return (principal, more = []) => {
    if (principal.type !== 'user' || named.has(principalText(principal))) return null;
    const groups = indexes.map((index) =>
      index.groupsWith(principal).flatMap(({ id }) => (named.has(principalText({ type: 'group', id })) ? [id] : [])),
    );
    return JSON.stringify([indexes.map((index) => index.principals.user(principal.id)?.isActive), groups, more]);
  };
}
