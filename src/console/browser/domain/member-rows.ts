import type { Schemas } from '../api/client.js';
import type { PrincipalRef } from '../parts/display.js';

type Member = Schemas['MemberResponse'];

/** A member of a group, or a principal that the unsaved draft adds or removes. */
export interface MemberRow {
  member: PrincipalRef;
  memberSince: string | null;
  change: 'joins' | 'leaves' | null;
}

/** A member as the API's addresses write it: `12`, `engine:NAME`. */
export function memberKey({ type, id, name = '' }: PrincipalRef): string {
  return type === 'user' ? String(id) : `engine:${name}`;
}

export const isSameMember =
  (member: PrincipalRef) =>
  (otherMember: PrincipalRef): boolean =>
    memberKey(otherMember) === memberKey(member);

/** The rows of the members. Members that the draft adds or removes come first. */
export function memberRows(
  members: readonly Member[],
  addedMembers: readonly PrincipalRef[],
  removedMembers: readonly PrincipalRef[],
): MemberRow[] {
  const rows = members.map(({ type, id, name, added_at: memberSince }): MemberRow => {
    const member = { type, name, ...(id !== undefined && { id }) };
    return { member, memberSince, change: removedMembers.some(isSameMember(member)) ? 'leaves' : null };
  });
  return [
    ...addedMembers.map((member): MemberRow => ({ member, memberSince: null, change: 'joins' })),
    ...rows.filter(({ change }) => change === 'leaves'),
    ...rows.filter(({ change }) => change === null),
  ];
}

/** The body of a preview request for the draft. */
export function memberDraft(
  groupId: number,
  addedMembers: readonly PrincipalRef[],
  removedMembers: readonly PrincipalRef[],
): Schemas['DraftDto'] {
  const membershipOf = ({ id, name = '' }: PrincipalRef): Schemas['MembershipDto'] =>
    id === undefined ? { group_id: groupId, engine: name } : { group_id: groupId, user_id: id };
  const members = { add: addedMembers.map(membershipOf), remove: removedMembers.map(membershipOf) };
  return { grant: [], revoke: [], members };
}
