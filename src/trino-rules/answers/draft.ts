import { getOrInsert } from '../../kernel/get-or-insert.js';
import type { PolicyPrincipal, Principal } from '../model/principal.js';
import { principalText } from '../model/principal.js';
import type { Node } from '../model/node.js';
import type { Snapshot, SnapshotGrant, SnapshotPolicy } from '../model/snapshot.js';

/** Changes that are not made yet. New grants and policies have ids of their own that no other has. */
export interface Draft {
  grants: readonly SnapshotGrant[];
  /** Ids of grants. */
  revoked: readonly number[];
  /** New policies, and those that replace the one with their id. */
  policies: readonly SnapshotPolicy[];
  /** Ids of policies. */
  deleted: readonly number[];
  joined: readonly Membership[];
  left: readonly Membership[];
}

/** Ids of a group and of an account. */
export interface Membership {
  group: number;
  user: number;
}

/** The snapshot as it would be with the draft. */
export function withDraft(snapshot: Snapshot, draft: Draft): Snapshot {
  const [revoked, deleted] = [new Set(draft.revoked), new Set(draft.deleted)];
  for (const { id } of draft.policies) deleted.add(id);
  return {
    ...snapshot,
    groups: snapshot.groups.map((group) => {
      const of = (memberships: readonly Membership[]) =>
        memberships.flatMap((membership) => (membership.group === group.id ? [membership.user] : []));
      const [joined, left] = [of(draft.joined), new Set(of(draft.left))];
      if (joined.length === 0 && left.size === 0) return group;
      return { ...group, members: [...new Set([...group.members, ...joined])].filter((user) => !left.has(user)) };
    }),
    grants: [...snapshot.grants.filter(({ id }) => !revoked.has(id)), ...draft.grants],
    policies: [...snapshot.policies.filter(({ id }) => !deleted.has(id)), ...draft.policies],
  };
}

/** Subjects, and the nodes where a draft can change their access, there and below. */
export interface Touched {
  subjects: readonly PolicyPrincipal[];
  nodes: Node[];
}

/** Every node at which the draft writes something, or where a group is named that gains or loses members. */
export function touchedBy(before: Snapshot, draft: Draft): Touched[] {
  const [revoked, replaced] = [
    new Set(draft.revoked),
    new Set([...draft.deleted, ...draft.policies.map(({ id }) => id)]),
  ];
  const grants = [...before.grants.filter(({ id }) => revoked.has(id)), ...draft.grants];
  const policies = [...before.policies.filter(({ id }) => replaced.has(id)), ...draft.policies];
  const moved = new Map<string, Touched & { subjects: Principal[] }>();
  for (const { group, user } of [...draft.joined, ...draft.left]) {
    const key = principalText({ type: 'group', id: group });
    getOrInsert(moved, key, () => ({ subjects: [], nodes: [] })).subjects.push({ type: 'user', id: user });
  }
  for (const entry of [...before.grants, ...before.policies, ...draft.policies]) {
    const named = [entry.principal, ...('except' in entry ? entry.except : [])];
    for (const subject of named) moved.get(principalText(subject))?.nodes.push(entry.resource);
  }
  const written = new Map<string, Touched>();
  // An exception that is added or dropped changes access of principals that the policy's own subject includes.
  for (const { principal, resource } of [...grants, ...policies])
    getOrInsert(written, principalText(principal), () => ({ subjects: [principal], nodes: [] })).nodes.push(resource);
  // Its first or last grant makes an engine principal one of everyone, or no longer.
  const toEveryone = [...before.grants, ...draft.grants].filter(({ principal }) => principal.type === 'everyone');
  for (const { subjects, nodes } of written.values())
    if (subjects.some(({ type }) => type === 'engine')) nodes.push(...toEveryone.map(({ resource }) => resource));
  return [...written.values(), ...moved.values()];
}
