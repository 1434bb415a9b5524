import { getOrInsert } from '../../kernel/collections.js';
import { type GroupMember, type PolicyPrincipal, type Principal, principalText } from '../model/principal.js';
import type { Node } from '../model/node.js';
import { isOverRoutines } from '../model/privilege.js';
import { sharesFiles, whereRestricted } from '../model/restrictions.js';
import { type Snapshot, type SnapshotGrant, type SnapshotPolicy, principalsOf } from '../model/snapshot.js';

/** Proposed changes of a snapshot. New grants and policies have unique ids. */
export interface Draft {
  grants: readonly SnapshotGrant[];
  /** Ids of grants. */
  revoked: readonly number[];
  /** New policies, and changed ones, which replace the policy with the same id. */
  policies: readonly SnapshotPolicy[];
  /** Ids of policies. */
  deleted: readonly number[];
  joined: readonly Membership[];
  left: readonly Membership[];
}

/** A member of a group, by the group's id. */
export interface Membership {
  group: number;
  member: GroupMember;
}

/** The snapshot as it would be with the draft. */
export function withDraft(snapshot: Snapshot, draft: Draft): Snapshot {
  const revoked = new Set(draft.revoked);
  const replaced = new Set([...draft.deleted, ...draft.policies.map(({ id }) => id)]);
  return {
    ...snapshot,
    groups: snapshot.groups.map((group) => {
      const isOf = (membership: Membership): boolean => membership.group === group.id;
      const [joined, left] = [draft.joined.filter(isOf), draft.left.filter(isOf)];
      if (joined.length + left.length === 0) return group;
      const accounts = (some: Membership[]) => some.flatMap(({ member }) => (member.type === 'user' ? member.id : []));
      const engines = (some: Membership[]) =>
        some.flatMap(({ member }) => (member.type === 'engine' ? member.name : []));
      return {
        ...group,
        members: moved(group.members, accounts(joined), accounts(left)),
        engines: moved(group.engines, engines(joined), engines(left)),
      };
    }),
    grants: [...snapshot.grants.filter(({ id }) => !revoked.has(id)), ...draft.grants],
    policies: [...snapshot.policies.filter(({ id }) => !replaced.has(id)), ...draft.policies],
  };
}

function moved<T>(members: readonly T[], joined: readonly T[], left: readonly T[]): T[] {
  const gone = new Set(left);
  return [...new Set([...members, ...joined])].filter((member) => !gone.has(member));
}

/** Some principals, and the nodes at or below which a draft can change the access of these principals. */
export interface Touched {
  principals: readonly PolicyPrincipal[];
  nodes: Node[];
}

/** All nodes with changed entries, and nodes with entries for groups that gain or lose members. */
export function touchedBy(before: Snapshot, draft: Draft): Touched[] {
  const revoked = new Set(draft.revoked);
  const replaced = new Set([...draft.deleted, ...draft.policies.map(({ id }) => id)]);
  const grants = [...before.grants.filter(({ id }) => revoked.has(id)), ...draft.grants];
  const policies = [...before.policies.filter(({ id }) => replaced.has(id)), ...draft.policies];
  const running = [...before.grants, ...draft.grants].filter(({ privileges }) => privileges.some(isOverRoutines));
  const runs = new Set(running.map(({ resource }) => resource.catalog));
  const nodesOf = (entry: SnapshotGrant | SnapshotPolicy): Node[] => {
    const { catalog } = entry.resource;
    // Routines and shared files yield to a policy anywhere in the catalog.
    const isAbout = runs.has(catalog) || runs.has(undefined) || sharesFiles(entry.resource, before.settings);
    const isWide = 'except' in entry && catalog !== undefined && isAbout;
    const nodes = whereRestricted(entry.resource);
    return isWide ? [...nodes, { catalog }] : nodes;
  };
  const members = new Map<string, Touched & { principals: Principal[] }>();
  for (const { group, member } of [...draft.joined, ...draft.left]) {
    const key = principalText({ type: 'group', id: group });
    getOrInsert(members, key, () => ({ principals: [], nodes: [] })).principals.push(member);
  }
  for (const entry of [...before.grants, ...before.policies, ...draft.policies]) {
    for (const named of principalsOf(entry)) members.get(principalText(named))?.nodes.push(...nodesOf(entry));
  }
  const written = new Map<string, Touched>();
  // A changed exception affects principals that the policy's own principal includes.
  for (const entry of [...grants, ...policies]) {
    const { principal } = entry;
    const here = getOrInsert(written, principalText(principal), () => ({ principals: [principal], nodes: [] }));
    here.nodes.push(...nodesOf(entry));
  }
  const touched = [...written.values(), ...members.values()];
  // The first or last grant or group of an engine principal changes the members of everyone.
  const toEveryone = [...before.grants, ...draft.grants].filter(({ principal }) => principal.type === 'everyone');
  for (const { principals, nodes } of touched)
    if (principals.some(({ type }) => type === 'engine')) nodes.push(...toEveryone.map(({ resource }) => resource));
  return [...touched, ...touchedByOthers(before, draft, grants)];
}

/** Principals with IMPERSONATE or rights over queries: memberships and grants of the draft can change whom these rights cover. */
function touchedByOthers(before: Snapshot, draft: Draft, changed: readonly SnapshotGrant[]): Touched[] {
  const entries = [...before.grants, ...draft.grants, ...before.policies, ...draft.policies];
  const moved: PolicyPrincipal[] = [...draft.joined, ...draft.left].map(({ member }) => member);
  const named = [...changed.map(({ principal }) => principal), ...moved];
  const targets = [...new Map(named.map((each) => [principalText(each), each])).values()].filter(
    (each) => each.type === 'engine' || moved.includes(each),
  );
  return (['as', 'queries'] as const)
    .map((key) => ({
      principals: entries.filter(({ resource }) => resource[key] !== undefined).map(({ principal }) => principal),
      nodes: targets.map((target): Node => ({ [key]: target })),
    }))
    .filter(({ principals, nodes }) => principals.length > 0 && nodes.length > 0);
}
