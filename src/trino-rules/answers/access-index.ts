import { getOrInsert } from '../../kernel/collections.js';
import { type Principal, principalText } from '../model/principal.js';
import { isKillQuery, kindOf, type Node, nodeKey, nodeOf, pathTo } from '../model/node.js';
import { Principals } from '../model/principals.js';
import { isRoutinePrivilege, type Privilege, PRIVILEGE_TERMS } from '../model/privilege.js';
import { baseNodes, tablesMayShareFiles, nodesAffectedByPolicy } from '../model/restrictions.js';
import type { Snapshot, SnapshotGrant, SnapshotGroup, SnapshotPolicy } from '../model/snapshot.js';

interface GrantsAndPolicies {
  grants: SnapshotGrant[];
  policies: SnapshotPolicy[];
}

/** Selects the grants and policies that matter for a principal or a node. With only these, the functions of `model/` give the same answers in less time. */
export class AccessIndex {
  private readonly entriesByPrincipal = new Map<string, GrantsAndPolicies>();
  private readonly entriesByNode = new Map<string, GrantsAndPolicies>();
  /** Grants and policies about the queries of users or groups. A question about one owner's queries needs all of them, because the owner can be in several groups. */
  private readonly queryEntries = noEntries();
  private readonly policiesByCatalog = new Map<string, SnapshotPolicy[]>();
  /** Groups by `principalText` of their members. */
  private cachedGroups: ReadonlyMap<string, SnapshotGroup[]> | null = null;

  /** @param principals the principals of `snapshot`; if `snapshot` is a part of another snapshot, the principals of the whole */
  constructor(
    readonly snapshot: Snapshot,
    readonly principals = new Principals(snapshot),
  ) {
    const entriesAt = (index: Map<string, GrantsAndPolicies>, key: string) => getOrInsert(index, key, noEntries);
    for (const grant of snapshot.grants) {
      entriesAt(this.entriesByPrincipal, principalText(grant.principal)).grants.push(grant);
      entriesAt(this.entriesByNode, nodeKey(grant.resource)).grants.push(grant);
      if (grant.resource.queries !== undefined) this.queryEntries.grants.push(grant);
    }
    for (const policy of snapshot.policies) {
      entriesAt(this.entriesByPrincipal, principalText(policy.principal)).policies.push(policy);
      entriesAt(this.entriesByNode, nodeKey(policy.resource)).policies.push(policy);
      if (policy.resource.queries !== undefined) this.queryEntries.policies.push(policy);
      const { catalog } = policy.resource;
      if (catalog !== undefined) getOrInsert(this.policiesByCatalog, catalog, () => []).push(policy);
    }
  }

  snapshotFor(principal: Principal): Snapshot {
    const groupTexts = this.groupsOf(principal).map(({ id }) => `group:${id}`);
    const principalTexts = new Set(['everyone', principalText(principal), ...groupTexts]);
    return this.snapshotWith([...principalTexts].map((text) => this.entriesByPrincipal.get(text) ?? noEntries()));
  }

  /** The snapshot with only the grants and policies at this node and above, and other policies that can take away rights at this node. */
  snapshotOnPath(node: Node): Snapshot {
    const isAboutQueries = node.queries !== undefined || isKillQuery(node);
    const pathNodes = pathTo(node).filter(({ queries }) => queries === undefined);
    const pathEntries = pathNodes.map((each) => this.entriesByNode.get(nodeKey(each)) ?? noEntries());
    if (isAboutQueries) pathEntries.push(this.queryEntries);
    for (const base of baseNodes(node))
      pathEntries.push({ grants: [], policies: this.entriesByNode.get(nodeKey(base))?.policies ?? [] });
    const hasTakeableRights =
      (kindOf(node) !== 'table' || tablesMayShareFiles(node, this.snapshot.settings)) && // at other tables no policy on another node takes away a right
      pathEntries.some(({ grants }) => grants.some(({ privileges }) => privileges.some(isTakenFromElsewhere)));
    if (hasTakeableRights) pathEntries.push(this.policiesElsewhere(node, pathEntries));
    return this.snapshotWith(pathEntries);
  }

  private policiesElsewhere({ catalog }: Node, pathEntries: readonly GrantsAndPolicies[]): GrantsAndPolicies {
    const policiesOnPath = new Set(pathEntries.flatMap(({ policies }) => policies));
    const policies = catalog === undefined ? [] : (this.policiesByCatalog.get(catalog) ?? []);
    return { grants: [], policies: policies.filter((policy) => !policiesOnPath.has(policy)) };
  }

  /** Distinct nodes with grants or policies, and schemas of tables with policies. */
  nodes(): Node[] {
    const nodesByKey = new Map<string, Node>();
    for (const { grants, policies } of this.entriesByNode.values()) {
      const [firstEntry] = [...policies, ...grants];
      if (firstEntry === undefined) continue;
      const { resource } = firstEntry;
      const affectedNodes = policies.length > 0 ? nodesAffectedByPolicy(resource) : [resource];
      for (const node of affectedNodes) nodesByKey.set(nodeKey(node), nodeOf(node));
    }
    return [...nodesByKey.values()];
  }

  /** The groups that contain a principal. For a group: the group itself. */
  groupsOf(principal: Principal): SnapshotGroup[] {
    this.cachedGroups ??= groupsByMember(this.snapshot);
    if (principal.type !== 'group') return this.cachedGroups.get(principalText(principal)) ?? [];
    const group = this.principals.group(principal.id);
    return group ? [group] : [];
  }

  private snapshotWith(entries: readonly GrantsAndPolicies[]): Snapshot {
    const policies = entries.flatMap((each) => each.policies).sort(byId);
    return { ...this.snapshot, grants: entries.flatMap((each) => each.grants).sort(byId), policies };
  }
}

function groupsByMember({ groups }: Snapshot): ReadonlyMap<string, SnapshotGroup[]> {
  const groupsByMemberText = new Map<string, SnapshotGroup[]>();
  for (const group of groups) {
    const members: Principal[] = [
      ...group.members.map((id) => ({ type: 'user', id }) as const),
      ...group.engines.map((name) => ({ type: 'engine', name }) as const),
    ];
    for (const member of members) getOrInsert(groupsByMemberText, principalText(member), () => []).push(group);
  }
  return groupsByMemberText;
}

/** Whether a policy on one node can take the privilege away at another node. */
export function isTakenFromElsewhere(privilege: Privilege): boolean {
  return isRoutinePrivilege(privilege) || PRIVILEGE_TERMS[privilege].yieldsToRestrictions;
}

function noEntries(): GrantsAndPolicies {
  return { grants: [], policies: [] };
}

function byId(a: { id: number }, b: { id: number }): number {
  return a.id - b.id;
}

/** Returns a function that makes the key of a principal. Users with the same key have equal access. */
export function accessKeysOf(
  indexes: readonly AccessIndex[],
): (principal: Principal, additionalKeyParts?: readonly unknown[]) => string | null {
  const entries = indexes.flatMap(({ snapshot: { grants, policies } }) => [...grants, ...policies]);
  const principals = entries.flatMap((entry) => [entry.principal, ...('except' in entry ? entry.except : [])]);
  const namedPrincipals = new Set(principals.map(principalText));
  return (principal, additionalKeyParts = []) => {
    if (principal.type !== 'user' || namedPrincipals.has(principalText(principal))) return null;
    const groups = indexes.map((index) =>
      index
        .groupsOf(principal)
        .flatMap(({ id }) => (namedPrincipals.has(principalText({ type: 'group', id })) ? [id] : [])),
    );
    const activeFlags = indexes.map((index) => index.principals.user(principal.id)?.isActive);
    return JSON.stringify([activeFlags, groups, additionalKeyParts]);
  };
}
