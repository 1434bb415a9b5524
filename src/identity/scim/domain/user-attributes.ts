import { accountNameProblem } from '../../../users/domain/account.js';
import { type EntryMatchers, entryMatchers, type Filter } from './filter.js';
import { attributesOf, type Operation } from './patch.js';
import {
  booleanOf,
  entriesOf,
  identifierOf,
  invalid,
  membersOf,
  refuseOtherId,
  requiredName,
  textOf,
} from './values.js';

export interface UserEmail {
  value: string;
  type: string | null;
  primary: boolean | null;
}

export interface UserName {
  formatted: string | null;
  familyName: string | null;
  givenName: string | null;
}

/** The attributes of a user that a client of SCIM can set. Null: unset. */
export interface UserAttributes {
  userName: string;
  externalId: string | null;
  name: UserName;
  displayName: string | null;
  emails: readonly UserEmail[];
  active: boolean;
}

/** An account as SCIM manages it. */
export interface ScimUser extends UserAttributes {
  id: number;
  groups: readonly { id: number; name: string }[];
  createdAt: Date;
  changedAt: Date;
}

const MAX_EMAILS = 100;
export const UNSET_ATTRIBUTES = {
  externalId: null,
  name: { formatted: null, familyName: null, givenName: null },
  displayName: null,
};

/**
 * The attributes of a new or replaced user. Attributes that are missing in the body are unset, except `active`, which stays.
 * @param present the user that is replaced; null: a new one
 * @throws Refused 400
 */
export function userOfBody(body: unknown, present: { id: string; active: boolean } | null): UserAttributes {
  const empty = { ...UNSET_ATTRIBUTES, userName: '', emails: [], active: present?.active ?? true };
  const user = patchUser(empty, present?.id ?? null, attributesOf(body));
  if (user.userName === '') throw invalid('invalidValue', 'userName is required.');
  return user;
}

/**
 * The attributes after the operations, applied in their order. Attributes that the service does not store are dropped.
 * @param id the only id that the body may contain; null: a new user, for whom an id is ignored
 * @throws Refused 400
 */
export function patchUser(user: UserAttributes, id: string | null, operations: readonly Operation[]): UserAttributes {
  const matcher = entryMatchers();
  return operations.reduce((changed, operation) => after(changed, id, operation, matcher), user);
}

function after(user: UserAttributes, id: string | null, operation: Operation, matcher: EntryMatchers): UserAttributes {
  const { path, op, isExplicit } = operation;
  const value = op === 'remove' ? null : operation.value;
  switch (path.attribute) {
    case 'username':
      return { ...user, userName: requiredName(value, 'userName', accountNameProblem) };
    case 'externalid':
      return { ...user, externalId: identifierOf(value) };
    case 'displayname':
      return { ...user, displayName: textOf(value, 'displayName') };
    case 'active':
      if (op === 'remove') throw invalid('invalidValue', 'active cannot be removed.');
      return { ...user, active: booleanOf(value, 'active') ?? user.active };
    case 'name':
      return { ...user, name: nameAfter(user.name, operation) };
    case 'emails':
      return { ...user, emails: withOnePrimary(user.emails, emailsAfter(user.emails, operation, matcher)) };
    case 'id':
      refuseOtherId(value, id);
      return user;
    case 'groups':
      if (isExplicit) throw invalid('mutability', 'groups is read-only: members are changed in the group.');
      return user;
    default:
      return user;
  }
}

/** Changes only the parts of the name that the value contains (RFC 7644 section 3.5.2.3). */
function nameAfter(name: UserName, { op, path, value }: Operation): UserName {
  if (path.sub === null) {
    if (op === 'remove' || value === null || value === undefined) return UNSET_ATTRIBUTES.name;
    return [...membersOf(value, 'name')].reduce((changed, [key, part]) => withPart(changed, key, part), name);
  }
  return withPart(name, path.sub, op === 'remove' ? null : value);
}

function withPart(name: UserName, key: string, value: unknown): UserName {
  const part = (['formatted', 'familyName', 'givenName'] as const).find((each) => each.toLowerCase() === key);
  return part === undefined ? name : { ...name, [part]: textOf(value, `name.${part}`) };
}

function emailsAfter(
  emails: readonly UserEmail[],
  { op, path, value }: Operation,
  matcher: EntryMatchers,
): UserEmail[] {
  const { filter, sub } = path;
  if (filter === null && sub === null) {
    const given = entriesOf(value).map(emailOf);
    if (op === 'replace') return given;
    const isKnown = ({ value: text, type, primary }: UserEmail): boolean =>
      emails.some((each) => each.value === text && each.type === type && each.primary === primary);
    if (op === 'add') return [...emails, ...given.filter((email) => !isKnown(email))];
    // A removal without values removes all entries.
    return emails.filter((each) => given.length > 0 && !given.some((email) => email.value === each.value));
  }
  const isMeant = filter === null ? () => true : matcher(filter, emails.length);
  if (op === 'remove') {
    return emails.flatMap((email) => (isMeant(email) ? partRemoved(email, sub) : [email]));
  }
  if (!emails.some(isMeant)) return [...emails, newEntry(op, filter, sub, value)];
  return emails.map((email) => (isMeant(email) ? emailOf(sub === null ? value : { ...email, [sub]: value }) : email));
}

/** Creates the entry that a filter by type names: Microsoft Entra adds to entries that do not exist yet. */
function newEntry(op: Operation['op'], filter: Filter | null, sub: string | null, value: unknown): UserEmail {
  const isOfType = filter?.kind === 'compare' && filter.comparison === 'eq' && filter.path.attribute === 'type';
  if (op !== 'add' || !isOfType) throw invalid('noTarget', 'No entry of emails is the one that the path names.');
  return emailOf({
    type: filter.value,
    ...(sub === null ? Object.fromEntries(membersOf(value, 'an entry of emails')) : { [sub]: value }),
  });
}

function partRemoved(email: UserEmail, sub: string | null): UserEmail[] {
  if (sub === 'type' || sub === 'primary') return [{ ...email, [sub]: null }];
  return sub === null || sub === 'value' ? [] : [email];
}

function emailOf(entry: unknown): UserEmail {
  const members = membersOf(entry, 'an entry of emails');
  const value = textOf(members.get('value'), 'emails.value');
  if (value === null) throw invalid('invalidValue', 'An entry of emails needs a value.');
  const [type, primary] = [members.get('type'), members.get('primary')];
  return { value, type: textOf(type, 'emails.type'), primary: booleanOf(primary, 'emails.primary') };
}

/** A new primary entry replaces the former one (RFC 7644 section 3.5.2). */
function withOnePrimary(before: readonly UserEmail[], emails: UserEmail[]): UserEmail[] {
  if (emails.length > MAX_EMAILS) throw invalid('invalidValue', `There are more than ${MAX_EMAILS} emails.`);
  const primary = emails.filter((email) => email.primary === true);
  if (primary.length < 2) return emails;
  const next = primary.find((email) => !before.includes(email)) ?? primary[0];
  return emails.map((email) => (email.primary === true && email !== next ? { ...email, primary: false } : email));
}

/** The account's e-mail address: the primary one, or else the first. */
export function accountEmail(emails: readonly UserEmail[]): string | null {
  return (emails.find(({ primary }) => primary === true) ?? emails[0])?.value ?? null;
}
