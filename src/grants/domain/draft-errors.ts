import type { FieldError } from '../../kernel/errors.js';
import type { Membership } from '../../trino-rules/answers/draft.js';
import { principalText } from '../../trino-rules/model/principal.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import type { DraftRequest } from './draft-request.js';

/** The rows of a draft that do not exist, and those that two of its parts change: what these leave depends on their order. */
export function rowErrors(before: Snapshot, { revoked, policies, deleted, joined, left }: DraftRequest): FieldError[] {
  const put = policies.map(({ id }) => id);
  return [
    ...repeatedPolicies(before, put, deleted),
    ...repeatedMembers(joined, left),
    ...missing('revoke.*', revoked, before.grants, 'live grant'),
    ...missing('policies.put.*.id', put, before.policies, 'policy'),
    ...missing('policies.delete.*', deleted, before.policies, 'policy'),
    ...missingMembers(before, joined, 'add'),
    ...missingMembers(before, left, 'remove'),
  ];
}

function repeatedPolicies(
  { policies }: Snapshot,
  put: readonly (number | null)[],
  deleted: readonly number[],
): FieldError[] {
  const places = new Map(put.map((id, i) => [id, i]));
  const replaced = new Set<number | null>(policies.flatMap(({ id }) => (places.has(id) ? [id] : [])));
  const fields = [
    ...put.flatMap((id, i) => (replaced.has(id) && places.get(id) !== i ? [`policies.put.${i}.id`] : [])),
    ...deleted.flatMap((id, i) => (replaced.has(id) ? [`policies.delete.${i}`] : [])),
  ];
  return fields.map((field) => ({ field, message: 'names a policy that another part replaces' }));
}

function repeatedMembers(joined: readonly Membership[], left: readonly Membership[]): FieldError[] {
  const keyOf = ({ group, member }: Membership): string => `${group} ${principalText(member)}`;
  const added = new Set(joined.map(keyOf));
  return left.flatMap((membership, i) =>
    added.has(keyOf(membership)) ? [{ field: `members.remove.${i}`, message: 'is added by another part' }] : [],
  );
}

function missingMembers({ groups, users }: Snapshot, members: readonly Membership[], part: string): FieldError[] {
  const groupIds = members.map(({ group }) => group);
  const userIds = members.map(({ member }) => (member.type === 'user' ? member.id : null));
  return [
    ...missing(`members.${part}.*.group_id`, groupIds, groups, 'group'),
    ...missing(`members.${part}.*.user_id`, userIds, users, 'user'),
  ];
}

/** @param field with an asterisk for the place in the list */
function missing(
  field: string,
  ids: readonly (number | null)[],
  rows: readonly { id: number }[],
  what: string,
): FieldError[] {
  const known = new Set<number | null>(rows.map(({ id }) => id));
  return ids.flatMap((id, i) =>
    id === null || known.has(id) ? [] : [{ field: field.replace('*', String(i)), message: `there is no such ${what}` }],
  );
}
