import { nameProblem } from '../../../kernel/name.js';
import { entryMatchers, type Filter } from './filter.js';
import { attributesOf, type Operation } from './patch.js';
import { entriesOf, identifierOf, invalid, membersOf, refuseOtherId, requiredName, jsonExcerpt } from './values.js';

/** A group as SCIM manages it. */
export interface ScimGroup {
  id: number;
  name: string;
  externalId: string | null;
  /** Ids of users in rising order; null: not read. */
  memberIds: readonly number[] | null;
  /** Rises with each change of the group or its members. */
  version: number;
  createdAt: Date;
  changedAt: Date;
}

/** The most members in one page of groups. A page with more ends early. */
export const MOST_LISTED_MEMBERS = 50_000;

/** Changes of a group. The ids come from the client and may be unknown. */
export type GroupChange =
  | { kind: 'attributes'; name?: string; externalId?: string | null }
  | { kind: 'add-members' | 'remove-members' | 'replace-members'; ids: readonly string[] }
  | { kind: 'remove-matching'; filter: Filter };

/** The changes that replace a group by a body. Attributes that are missing in the body are unset. @throws Refused 400 */
export function changesByBody(body: unknown, id: string | null): GroupChange[] {
  const changes = changesByPatch(attributesOf(body), id);
  if (attributesIn(changes).name === undefined) throw invalid('invalidValue', 'displayName is required.');
  return [{ kind: 'attributes', externalId: null }, { kind: 'replace-members', ids: [] }, ...changes];
}

/** The changes by operations of PATCH, in their order. Attributes that the service does not store are dropped. @throws Refused 400 */
export function changesByPatch(operations: readonly Operation[], id: string | null): GroupChange[] {
  return operations.flatMap((operation) => changeOf(operation, id));
}

/** The attributes that the changes set. */
export function attributesIn(changes: readonly GroupChange[]): { name?: string; externalId?: string | null } {
  return changes.reduce((after, change) => (change.kind === 'attributes' ? { ...after, ...change } : after), {});
}

/** The ids that the changes add, which must be ids of users. Removed ids may be unknown. */
export function addedMembers(changes: readonly GroupChange[]): string[] {
  return [...new Set(changes.flatMap((change) => (isJoining(change) ? change.ids : [])))];
}

/** The ids of members that the changes can affect; null: all members. */
export function affectedMembers(changes: readonly GroupChange[]): string[] | null {
  const ids = new Set<string>();
  for (const change of changes) {
    if (change.kind === 'replace-members' || change.kind === 'remove-matching') return null;
    if (change.kind === 'add-members' || change.kind === 'remove-members') for (const id of change.ids) ids.add(id);
  }
  return [...ids];
}

/** The ids that join and leave. @param present ids of present members, at least of the `touched` ones. @throws Refused 400 `tooMany` */
export function membershipAfter(
  changes: readonly GroupChange[],
  present: readonly string[],
): { added: string[]; removed: string[] } {
  const before = new Set(present);
  const members = new Set(present);
  const matcher = entryMatchers();
  for (const change of changes) {
    if (change.kind === 'replace-members') members.clear();
    if (isJoining(change)) for (const id of change.ids) members.add(id);
    if (change.kind === 'remove-members') for (const id of change.ids) members.delete(id);
    if (change.kind !== 'remove-matching') continue;
    const isMeant = matcher(change.filter, members.size);
    for (const value of members) if (isMeant({ value, type: 'User' })) members.delete(value);
  }
  return {
    added: [...members].filter((id) => !before.has(id)),
    removed: present.filter((id) => !members.has(id)),
  };
}

function isJoining(change: GroupChange): change is GroupChange & { ids: readonly string[] } {
  return change.kind === 'add-members' || change.kind === 'replace-members';
}

function changeOf(operation: Operation, id: string | null): GroupChange[] {
  const value = operation.op === 'remove' ? null : operation.value;
  switch (operation.path.attribute) {
    case 'displayname':
      return [{ kind: 'attributes', name: requiredName(value, 'displayName', nameProblem) }];
    case 'externalid':
      return [{ kind: 'attributes', externalId: identifierOf(value) }];
    case 'members':
      return [memberChange(operation)];
    case 'id':
      refuseOtherId(value, id);
      return [];
    default:
      return [];
  }
}

/** The change by one operation. Clients remove members by a filter (Okta, Entra with a flag), by a list (Entra), or all at once. */
function memberChange({ op, path: { filter, sub }, value }: Operation): GroupChange {
  if (sub !== null) throw invalid('mutability', `members.${sub} cannot be changed.`);
  if (filter !== null) {
    if (op !== 'remove') throw invalid('mutability', 'Members are added and removed, and not changed.');
    const ids = idsIn(filter);
    return ids === null ? { kind: 'remove-matching', filter } : { kind: 'remove-members', ids };
  }
  const ids = entriesOf(value).map(memberId);
  if (op === 'add') return { kind: 'add-members', ids };
  // A removal without a value removes all members; one with an empty list removes none.
  if (op === 'remove' && (ids.length > 0 || Array.isArray(value))) return { kind: 'remove-members', ids };
  return { kind: 'replace-members', ids: op === 'remove' ? [] : ids };
}

/** The ids of `value eq "1" or value eq "2"`; null: the filter has other conditions. */
function idsIn(filter: Filter): string[] | null {
  if (filter.kind === 'or') {
    const [left, right] = [idsIn(filter.left), idsIn(filter.right)];
    return left === null || right === null ? null : [...left, ...right];
  }
  const isId = filter.kind === 'compare' && filter.comparison === 'eq' && filter.path.attribute === 'value';
  return isId && typeof filter.value === 'string' ? [filter.value] : null;
}

function memberId(entry: unknown): string {
  const members = typeof entry === 'string' ? new Map([['value', entry]]) : membersOf(entry, 'an entry of members');
  const [value, type] = [members.get('value'), members.get('type')];
  if (typeof type === 'string' && type.toLowerCase() !== 'user') {
    throw invalid('invalidValue', `Members are users, not ${jsonExcerpt(type)}.`);
  }
  if (typeof value !== 'string' || value === '') throw invalid('invalidValue', 'An entry of members needs a value.');
  return value;
}
