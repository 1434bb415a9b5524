import { nameProblem } from '../../../kernel/name.js';
import type { Filter } from './filter.js';
import { attributesOf, type Operation } from './patch.js';
import { invalid, shown } from './scim-refusal.js';
import { refuseOtherId } from './user-attributes.js';
import { entriesOf, identifierOf, membersOf, textOf } from './values.js';

/** Changes of a group, each of the rows that it names alone. Ids as the client gave them: they may be nobody's. */
export type GroupChange =
  | { kind: 'rename'; name: string }
  | { kind: 'external-id'; externalId: string | null }
  | { kind: 'add-members' | 'remove-members' | 'replace-members'; ids: readonly string[] }
  | { kind: 'remove-matching'; filter: Filter };

export interface NewScimGroup {
  name: string;
  externalId: string | null;
  memberIds: readonly string[];
}

/** A group that is made or put in the place of one: what the body does not name is unset. @throws Refused 400 */
export function wholeGroup(body: unknown, id: string | null): NewScimGroup {
  let group: NewScimGroup = { name: '', externalId: null, memberIds: [] };
  for (const change of changesOf(attributesOf(body), id)) {
    if (change.kind === 'rename') group = { ...group, name: change.name };
    if (change.kind === 'external-id') group = { ...group, externalId: change.externalId };
    if (change.kind === 'replace-members') group = { ...group, memberIds: change.ids };
  }
  if (group.name === '') throw invalid('invalidValue', 'displayName is required.');
  return group;
}

/** In the order of the operations. Attributes that are not kept are dropped. @throws Refused 400 */
export function changesOf(operations: readonly Operation[], id: string | null): GroupChange[] {
  return operations.flatMap((operation) => changeOf(operation, id));
}

function changeOf(operation: Operation, id: string | null): GroupChange[] {
  const value = operation.op === 'remove' ? null : operation.value;
  switch (operation.path.attribute) {
    case 'displayname':
      return [{ kind: 'rename', name: nameOf(value) }];
    case 'externalid':
      return [{ kind: 'external-id', externalId: identifierOf(value) }];
    case 'members':
      return [memberChange(operation)];
    case 'id':
      refuseOtherId(value, id);
      return [];
    default:
      return [];
  }
}

/** Members are removed by a filter (Okta; Entra with its flag), by a list of values (Entra), or all of them. */
function memberChange({ op, path: { filter, sub }, value }: Operation): GroupChange {
  if (sub !== null && sub !== 'value') throw invalid('mutability', `members.${sub} cannot be changed.`);
  const ids = entriesOf(value).map(memberId);
  if (filter !== null) {
    if (op !== 'remove') throw invalid('mutability', 'Members are added and removed, and not changed.');
    return { kind: 'remove-matching', filter };
  }
  if (op === 'add') return { kind: 'add-members', ids };
  // Without values it takes all of them; an empty list names nobody.
  if (op === 'remove' && (ids.length > 0 || Array.isArray(value))) return { kind: 'remove-members', ids };
  return { kind: 'replace-members', ids: op === 'remove' ? [] : ids };
}

function memberId(entry: unknown): string {
  const members = typeof entry === 'string' ? new Map([['value', entry]]) : membersOf(entry, 'an entry of members');
  const [value, type] = [members.get('value'), members.get('type')];
  if (typeof type === 'string' && type.toLowerCase() !== 'user') {
    throw invalid('invalidValue', `Members are users, not ${shown(type)}.`);
  }
  if (typeof value !== 'string' || value === '') throw invalid('invalidValue', 'An entry of members needs a value.');
  return value;
}

function nameOf(value: unknown): string {
  const name = textOf(value, 'displayName') ?? '';
  const problem = name === '' ? 'is required' : nameProblem(name);
  if (problem !== null) throw invalid('invalidValue', `displayName ${problem}.`);
  return name;
}
