import fc from 'fast-check';
import type { Draft, Membership } from '../../../src/trino-rules/answers/draft.js';
import type { GroupMember } from '../../../src/trino-rules/model/principal.js';
import type { Snapshot } from '../../../src/trino-rules/model/snapshot.js';
import { ENGINES } from './vocabulary.js';

/**
 * A draft for a snapshot, made of parts of another one.
 * @param other its grants and policies are what the draft adds, under new ids
 */
export function anyDraft(snapshot: Snapshot, other: Snapshot): fc.Arbitrary<Draft> {
  const members = [
    ...snapshot.users.map(({ id }): GroupMember => ({ type: 'user', id })),
    ...ENGINES.map((name): GroupMember => ({ type: 'engine', name })),
  ];
  const memberships = snapshot.groups.flatMap(({ id: group }) => members.map((member) => ({ group, member })));
  const some = <T>(of: readonly T[], most: number) => fc.subarray([...of], { maxLength: Math.min(most, of.length) });
  const moved = some<Membership>(memberships, 3);
  return fc.record({
    grants: some(other.grants, 3).map((grants) => grants.map((grant) => ({ ...grant, id: grant.id + NEW_ID }))),
    revokedGrantIds: some(snapshot.grants, 3).map((grants) => grants.map(({ id }) => id)),
    policies: fc.tuple(some(other.policies, 2), fc.boolean()).map(([policies, replaces]) =>
      policies.map((policy, i) => ({
        ...policy,
        id: replaces ? (snapshot.policies[i]?.id ?? NEW_ID + i) : NEW_ID + i,
      })),
    ),
    deletedPolicyIds: some(snapshot.policies, 2).map((policies) => policies.map(({ id }) => id)),
    addedMembers: moved,
    removedMembers: moved,
  });
}

const NEW_ID = 1_000_000;
