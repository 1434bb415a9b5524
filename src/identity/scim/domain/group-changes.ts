import { nameProblem } from '../../../kernel/name.js';
import { entryMatcherMaker, type Filter } from './filter.js';
import { attributesOf, type Operation } from './patch.js';
import { entriesOf, identifierOf, refusal, membersOf, refuseOtherId, requiredName, jsonExcerpt } from './values.js';

export interface ScimGroup {
  id: number;
  name: string;
  externalId: string | null;
  /** Ids of users in rising order; null: the store did not read them. */
  memberIds: readonly number[] | null;
  /** Rises with each change of the group or its members. */
  version: number;
  createdAt: Date;
  changedAt: Date;
}

/** The number of members at which a page of groups ends early. The group that reaches the number is the last of the page. */
export const MAX_LISTED_MEMBERS = 50_000;

/** Changes of a group. The ids come from the client and may be unknown. */
export type GroupChange =
  | { kind: 'attributes'; name?: string; externalId?: string | null }
  | { kind: 'add-members' | 'remove-members' | 'replace-members'; ids: readonly string[] }
  | { kind: 'remove-matching'; filter: Filter };

/** The changes that replace a group by a body. Attributes that are missing in the body are unset. @throws Refused 400 */
export function changesByBody(body: unknown, id: string | null): GroupChange[] {
  const changes = changesByPatch(attributesOf(body), id);
  if (attributesIn(changes).name === undefined) throw refusal('invalidValue', 'displayName is required.');
  return [{ kind: 'attributes', externalId: null }, { kind: 'replace-members', ids: [] }, ...changes];
}

/** The changes by operations of PATCH, in their order. Attributes that the service does not store are dropped. @throws Refused 400 */
export function changesByPatch(operations: readonly Operation[], id: string | null): GroupChange[] {
  return operations.flatMap((operation) => changesOf(operation, id));
}

export function attributesIn(changes: readonly GroupChange[]): { name?: string; externalId?: string | null } {
  return changes.reduce((merged, change) => (change.kind === 'attributes' ? { ...merged, ...change } : merged), {});
}

/** The ids that the changes add as members. They must be ids of users, but removed ids may be unknown. */
export function addedMemberIds(changes: readonly GroupChange[]): string[] {
  return [...new Set(changes.flatMap((change) => (isAddition(change) ? change.ids : [])))];
}

/** The ids of members that the changes can affect; null: all members. */
export function affectedMemberIds(changes: readonly GroupChange[]): string[] | null {
  const ids = new Set<string>();
  for (const change of changes) {
    if (change.kind === 'replace-members' || change.kind === 'remove-matching') return null;
    if (change.kind === 'add-members' || change.kind === 'remove-members') for (const id of change.ids) ids.add(id);
  }
  return [...ids];
}

/** Ids of users to add to the group and to remove from it. @param presentIds present members, at least those in `affectedMemberIds`. @throws Refused 400 `tooMany` */
export function membershipChanges(
  changes: readonly GroupChange[],
  presentIds: readonly string[],
): { addedIds: string[]; removedIds: string[] } {
  const presentIdSet = new Set(presentIds);
  const memberIds = new Set(presentIds);
  const makeMatcher = entryMatcherMaker();
  for (const change of changes) {
    if (change.kind === 'replace-members') memberIds.clear();
    if (isAddition(change)) for (const id of change.ids) memberIds.add(id);
    if (change.kind === 'remove-members') for (const id of change.ids) memberIds.delete(id);
    if (change.kind !== 'remove-matching') continue;
    const matchesFilter = makeMatcher(change.filter, memberIds.size);
    for (const value of memberIds) if (matchesFilter({ value, type: 'User' })) memberIds.delete(value);
  }
  return {
    addedIds: [...memberIds].filter((id) => !presentIdSet.has(id)),
    removedIds: presentIds.filter((id) => !memberIds.has(id)),
  };
}

function isAddition(change: GroupChange): change is GroupChange & { ids: readonly string[] } {
  return change.kind === 'add-members' || change.kind === 'replace-members';
}

function changesOf(operation: Operation, id: string | null): GroupChange[] {
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

/** The change by one operation on members. Clients remove members by a filter (Okta, Entra with a flag), by a list (Entra), or all at once. */
function memberChange({ op, path: { filter, part }, value }: Operation): GroupChange {
  if (part !== null) throw refusal('mutability', `members.${part} cannot be changed.`);
  if (filter !== null) {
    if (op !== 'remove') throw refusal('mutability', 'Members are added and removed, and not changed.');
    const ids = idsIn(filter);
    return ids === null ? { kind: 'remove-matching', filter } : { kind: 'remove-members', ids };
  }
  const ids = entriesOf(value).map(memberId);
  if (op === 'add') return { kind: 'add-members', ids };
  // A removal without a value removes all members; a removal with an empty list removes none.
  if (op === 'remove' && (ids.length > 0 || Array.isArray(value))) return { kind: 'remove-members', ids };
  return { kind: 'replace-members', ids: op === 'remove' ? [] : ids };
}

/** The ids in a filter of the form `value eq "1" or value eq "2"`; null: the filter has another form. */
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
    throw refusal('invalidValue', `Members are users, not ${jsonExcerpt(type)}.`);
  }
  if (typeof value !== 'string' || value === '') throw refusal('invalidValue', 'An entry of members needs a value.');
  return value;
}
