import type { Schemas } from '../api/client.js';
import type { Named } from '../parts/display.js';

type Member = Schemas['MemberResponse'];

/** A member, or somebody who joins or leaves once the draft is saved. */
export interface MemberRow {
  member: Named;
  since: string | null;
  change: 'joins' | 'leaves' | null;
}

/** The member in addresses of the API. */
export function keyOf({ type, id, name = '' }: Named): string {
  return type === 'user' ? String(id) : `engine:${name}`;
}

export const sameAs =
  (member: Named) =>
  (other: Named): boolean =>
    keyOf(other) === keyOf(member);

/** Changes first. */
export function rowsOf(members: readonly Member[], joins: readonly Named[], leaves: readonly Named[]): MemberRow[] {
  const rows = members.map(({ type, id, name, added_at: since }): MemberRow => {
    const member = { type, name, ...(id !== undefined && { id }) };
    return { member, since, change: leaves.some(sameAs(member)) ? 'leaves' : null };
  });
  return [
    ...joins.map((member): MemberRow => ({ member, since: null, change: 'joins' })),
    ...rows.filter(({ change }) => change === 'leaves'),
    ...rows.filter(({ change }) => change === null),
  ];
}

/** The draft as the preview takes it. */
export function draftOf(group: number, joins: readonly Named[], leaves: readonly Named[]): Schemas['DraftDto'] {
  const membershipOf = ({ id, name = '' }: Named): Schemas['MembershipDto'] =>
    id === undefined ? { group_id: group, engine: name } : { group_id: group, user_id: id };
  return { grant: [], revoke: [], members: { add: joins.map(membershipOf), remove: leaves.map(membershipOf) } };
}
