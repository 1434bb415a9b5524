import { getOrInsert } from '../../kernel/collections.js';
import { type GroupMember, type PolicyPrincipal, type Principal, principalText } from '../model/principal.js';
import type { Node } from '../model/node.js';
import { isRoutinePrivilege } from '../model/privilege.js';
import { tablesMayShareFiles, nodesAffectedByPolicy } from '../model/restrictions.js';
import { type Snapshot, type SnapshotGrant, type SnapshotPolicy, principalsOf } from '../model/snapshot.js';

/** Proposed changes of a snapshot. New grants and policies have unique ids. */
export interface Draft {
  grants: readonly SnapshotGrant[];
  revokedGrantIds: readonly number[];
  /** New policies, and changed policies, which replace the policy with the same id. */
  policies: readonly SnapshotPolicy[];
  deletedPolicyIds: readonly number[];
  addedMembers: readonly Membership[];
  removedMembers: readonly Membership[];
}

export interface Membership {
  group: number;
  member: GroupMember;
}

export function withDraft(snapshot: Snapshot, draft: Draft): Snapshot {
  const revokedIds = new Set(draft.revokedGrantIds);
  const replacedPolicyIds = new Set([...draft.deletedPolicyIds, ...draft.policies.map(({ id }) => id)]);
  return {
    ...snapshot,
    groups: snapshot.groups.map((group) => {
      const isOfGroup = (membership: Membership): boolean => membership.group === group.id;
      const addedMemberships = draft.addedMembers.filter(isOfGroup);
      const removedMemberships = draft.removedMembers.filter(isOfGroup);
      if (addedMemberships.length + removedMemberships.length === 0) return group;
      const accountIdsIn = (memberships: Membership[]) =>
        memberships.flatMap(({ member }) => (member.type === 'user' ? member.id : []));
      const engineNamesIn = (memberships: Membership[]) =>
        memberships.flatMap(({ member }) => (member.type === 'engine' ? member.name : []));
      return {
        ...group,
        members: updatedMembers(group.members, accountIdsIn(addedMemberships), accountIdsIn(removedMemberships)),
        engines: updatedMembers(group.engines, engineNamesIn(addedMemberships), engineNamesIn(removedMemberships)),
      };
    }),
    grants: [...snapshot.grants.filter(({ id }) => !revokedIds.has(id)), ...draft.grants],
    policies: [...snapshot.policies.filter(({ id }) => !replacedPolicyIds.has(id)), ...draft.policies],
  };
}

function updatedMembers<T>(members: readonly T[], joiningMembers: readonly T[], leavingMembers: readonly T[]): T[] {
  const removedMembers = new Set(leavingMembers);
  return [...new Set([...members, ...joiningMembers])].filter((member) => !removedMembers.has(member));
}

/** Principals, with the nodes at or below which a draft can change their access. */
export interface AffectedNodes {
  principals: readonly PolicyPrincipal[];
  nodes: Node[];
}

export function affectedNodes(snapshot: Snapshot, draft: Draft): AffectedNodes[] {
  const revokedIds = new Set(draft.revokedGrantIds);
  const replacedPolicyIds = new Set([...draft.deletedPolicyIds, ...draft.policies.map(({ id }) => id)]);
  const grants = [...snapshot.grants.filter(({ id }) => revokedIds.has(id)), ...draft.grants];
  const policies = [...snapshot.policies.filter(({ id }) => replacedPolicyIds.has(id)), ...draft.policies];
  const routineEntries = [...snapshot.grants, ...draft.grants].filter((each) =>
    each.privileges.some(isRoutinePrivilege),
  );
  const routineCatalogs = new Set(routineEntries.map(({ resource }) => resource.catalog));
  const nodesOf = (entry: SnapshotGrant | SnapshotPolicy): Node[] => {
    const { catalog } = entry.resource;
    // A policy on one table can take away rights in its whole catalog, for example over routines.
    const affectsCatalog =
      routineCatalogs.has(catalog) ||
      routineCatalogs.has(undefined) ||
      tablesMayShareFiles(entry.resource, snapshot.settings);
    const affectsWholeCatalog = 'except' in entry && catalog !== undefined && affectsCatalog;
    const nodes = nodesAffectedByPolicy(entry.resource);
    return affectsWholeCatalog ? [...nodes, { catalog }] : nodes;
  };
  const affectedNodesByGroup = new Map<string, AffectedNodes & { principals: Principal[] }>();
  for (const { group, member } of [...draft.addedMembers, ...draft.removedMembers]) {
    const key = principalText({ type: 'group', id: group });
    getOrInsert(affectedNodesByGroup, key, () => ({ principals: [], nodes: [] })).principals.push(member);
  }
  for (const entry of [...snapshot.grants, ...snapshot.policies, ...draft.policies]) {
    for (const principal of principalsOf(entry))
      affectedNodesByGroup.get(principalText(principal))?.nodes.push(...nodesOf(entry));
  }
  const affectedNodesByPrincipal = new Map<string, AffectedNodes>();
  // A policy's exceptions are left out, because they are members of the policy's principal, which is in the map.
  for (const entry of [...grants, ...policies]) {
    const createEntry = (): AffectedNodes => ({ principals: [entry.principal], nodes: [] });
    getOrInsert(affectedNodesByPrincipal, principalText(entry.principal), createEntry).nodes.push(...nodesOf(entry));
  }
  const allAffectedNodes = [...affectedNodesByPrincipal.values(), ...affectedNodesByGroup.values()];
  // An engine principal belongs to everyone only while it has a grant or a group. The draft can change this membership, so the nodes of grants to everyone are added.
  const everyoneGrants = [...snapshot.grants, ...draft.grants].filter(({ principal }) => principal.type === 'everyone');
  for (const { principals, nodes } of allAffectedNodes)
    if (principals.some(({ type }) => type === 'engine')) nodes.push(...everyoneGrants.map(({ resource }) => resource));
  return [...allAffectedNodes, ...affectedHoldersOverPrincipals(snapshot, draft, grants)];
}

function affectedHoldersOverPrincipals(
  snapshot: Snapshot,
  draft: Draft,
  changedGrants: readonly SnapshotGrant[],
): AffectedNodes[] {
  const entries = [...snapshot.grants, ...draft.grants, ...snapshot.policies, ...draft.policies];
  const memberships = [...draft.addedMembers, ...draft.removedMembers];
  const changedMembers: PolicyPrincipal[] = memberships.map(({ member }) => member);
  const changedPrincipals = [...changedGrants.map(({ principal }) => principal), ...changedMembers];
  const nodePrincipals = [...new Map(changedPrincipals.map((each) => [principalText(each), each])).values()].filter(
    (each) => each.type === 'engine' || changedMembers.includes(each),
  );
  return (['as', 'queries'] as const)
    .map((key) => ({
      principals: entries.filter(({ resource }) => resource[key] !== undefined).map(({ principal }) => principal),
      nodes: nodePrincipals.map((target): Node => ({ [key]: target })),
    }))
    .filter(({ principals, nodes }) => principals.length > 0 && nodes.length > 0);
}
