import { accountNameProblem } from '../../../users/domain/account.js';
import { type MakeEntryMatcher, entryMatcherMaker, type Filter } from './filter.js';
import { attributesOf, type Operation } from './patch.js';
import {
  booleanOf,
  entriesOf,
  identifierOf,
  refusal,
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

/** The attributes of a user that a client of SCIM can set. Null means that an attribute is not set. */
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
const EMAIL_PARTS: readonly string[] = ['value', 'type', 'primary'];
export const UNSET_ATTRIBUTES = {
  externalId: null,
  name: { formatted: null, familyName: null, givenName: null },
  displayName: null,
};

/**
 * The attributes of a new or replaced user. Attributes that are missing in the body are unset; a missing `active` keeps its value.
 * @param replacedUser the user that is replaced; null: the user is new
 * @throws Refused 400
 */
export function userOfBody(body: unknown, replacedUser: { id: string; active: boolean } | null): UserAttributes {
  const emptyUser = { ...UNSET_ATTRIBUTES, userName: '', emails: [], active: replacedUser?.active ?? true };
  const user = patchUser(emptyUser, replacedUser?.id ?? null, attributesOf(body));
  if (user.userName === '') throw refusal('invalidValue', 'userName is required.');
  return user;
}

/**
 * The attributes after the operations, applied in their order. Attributes that the service does not store are dropped.
 * @param id the user's id: the operations may contain no other id. Null for a new user: an id in the operations is ignored
 * @throws Refused 400
 */
export function patchUser(user: UserAttributes, id: string | null, operations: readonly Operation[]): UserAttributes {
  const makeMatcher = entryMatcherMaker();
  return operations.reduce((result, operation) => applyOperation(result, id, operation, makeMatcher), user);
}

function applyOperation(
  user: UserAttributes,
  id: string | null,
  operation: Operation,
  makeMatcher: MakeEntryMatcher,
): UserAttributes {
  const { path, op, isPathGiven: isExplicit } = operation;
  const value = op === 'remove' ? null : operation.value;
  switch (path.attribute) {
    case 'username':
      return { ...user, userName: requiredName(value, 'userName', accountNameProblem) };
    case 'externalid':
      return { ...user, externalId: identifierOf(value) };
    case 'displayname':
      return { ...user, displayName: textOf(value, 'displayName') };
    case 'active':
      if (op === 'remove') throw refusal('invalidValue', 'active cannot be removed.');
      return { ...user, active: booleanOf(value, 'active') ?? user.active };
    case 'name':
      return { ...user, name: nameAfter(user.name, operation) };
    case 'emails':
      return { ...user, emails: withOnePrimary(user.emails, emailsAfter(user.emails, operation, makeMatcher)) };
    case 'id':
      refuseOtherId(value, id);
      return user;
    case 'groups':
      if (isExplicit) throw refusal('mutability', 'groups is read-only: members are changed in the group.');
      return user;
    default:
      return user;
  }
}

/** The name after an operation. A value changes only the parts of the name that it contains (RFC 7644 section 3.5.2.3). */
function nameAfter(name: UserName, { op, path, value }: Operation): UserName {
  if (path.part === null) {
    if (op === 'remove' || value === null || value === undefined) return UNSET_ATTRIBUTES.name;
    return [...membersOf(value, 'name')].reduce((result, [key, part]) => withPart(result, key, part), name);
  }
  return withPart(name, path.part, op === 'remove' ? null : value);
}

function withPart(name: UserName, key: string, value: unknown): UserName {
  const part = (['formatted', 'familyName', 'givenName'] as const).find((each) => each.toLowerCase() === key);
  return part === undefined ? name : { ...name, [part]: textOf(value, `name.${part}`) };
}

function emailsAfter(
  emails: readonly UserEmail[],
  { op, path, value }: Operation,
  makeMatcher: MakeEntryMatcher,
): UserEmail[] {
  const { filter, part } = path;
  if (part !== null && !EMAIL_PARTS.includes(part)) return [...emails];
  if (filter === null && part === null) {
    const entries = entriesOf(value);
    const newEmails = entries.flatMap(emailOf);
    if (op === 'replace') return newEmails;
    const isExistingEmail = ({ value: text, type, primary }: UserEmail): boolean =>
      emails.some((each) => each.value === text && each.type === type && each.primary === primary);
    if (op === 'add') return [...emails, ...newEmails.filter((email) => !isExistingEmail(email))];
    // A removal without values removes all addresses.
    return emails.filter((each) => entries.length > 0 && !newEmails.some((email) => email.value === each.value));
  }
  const isMatch = filter === null ? () => true : makeMatcher(filter, emails.length);
  const newValue = op === 'remove' ? null : (value ?? null);
  if (newValue !== null && !emails.some(isMatch)) return [...emails, newFilteredEmail(filter, part, newValue)];
  const changedEmail = (email: UserEmail): UserEmail[] =>
    part === null ? entriesOf(newValue).flatMap(emailOf) : emailOf({ ...email, [part]: newValue });
  return emails.flatMap((email) => (isMatch(email) ? changedEmail(email) : [email]));
}

/** The new entry for a filter without a match. Also for `replace`, as Microsoft Entra expects: a refusal would hold back the whole request, such as `active`. @throws Refused 400 unless the filter is `type eq …` or `primary eq …` */
function newFilteredEmail(filter: Filter | null, part: string | null, value: unknown): UserEmail {
  const isEquality = filter?.kind === 'compare' && filter.comparison === 'eq';
  const entry = part === null ? Object.fromEntries(membersOf(value, 'an entry of emails')) : { [part]: value };
  if (isEquality && ['type', 'primary'].includes(filter.path.attribute)) {
    const [email] = emailOf({ [filter.path.attribute]: filter.value, ...entry });
    if (email !== undefined) return email;
  }
  throw refusal('noTarget', 'No entry of emails is the one that the path names.');
}

/** The address of an entry. An entry whose value is unset is none (RFC 7643 section 2.5). */
function emailOf(entry: unknown): UserEmail[] {
  const members = membersOf(entry, 'an entry of emails');
  const value = textOf(members.get('value'), 'emails.value');
  const type = textOf(members.get('type'), 'emails.type');
  const primary = booleanOf(members.get('primary'), 'emails.primary');
  return value === null ? [] : [{ value, type, primary }];
}

/** The entries with at most one primary entry: a new primary entry replaces the former one (RFC 7644 section 3.5.2). */
function withOnePrimary(formerEmails: readonly UserEmail[], emails: UserEmail[]): UserEmail[] {
  if (emails.length > MAX_EMAILS) throw refusal('invalidValue', `There are more than ${MAX_EMAILS} emails.`);
  const primaryEmails = emails.filter((email) => email.primary === true);
  if (primaryEmails.length < 2) return emails;
  const newPrimary = primaryEmails.find((email) => !formerEmails.includes(email)) ?? primaryEmails[0];
  return emails.map((email) => (email.primary === true && email !== newPrimary ? { ...email, primary: false } : email));
}

/** The e-mail address for the account: the primary one, or else the first; null: there is none. */
export function accountEmail(emails: readonly UserEmail[]): string | null {
  return (emails.find(({ primary }) => primary === true) ?? emails[0])?.value ?? null;
}
