import { type Account, accountNameProblem, emailProblem } from '../../../users/domain/account.js';
import { type Claims, isIdentifier } from './claims.js';
import { type Failed, failure, type SignInFailure } from './flow.js';

/** A person that the provider vouches for. */
export interface Person {
  issuer: string;
  /** Permanent at this issuer. */
  subject: string;
  /** The value of the claim, of any type. */
  name: unknown;
  email: string | null;
  /** The id that SCIM uses, by a claim of the settings; null: the claim is absent. */
  externalId: string | null;
}

/** Null: the subject is no valid identifier. */
export function personOf(
  claims: Claims,
  {
    issuer,
    subjectClaim,
    usernameClaim,
    externalIdClaim,
  }: { issuer: string; subjectClaim: string; usernameClaim: string; externalIdClaim: string | null },
): Person | null {
  const subject = claims[subjectClaim];
  if (!isIdentifier(subject)) return null;
  const email = claims['email'];
  const isEmail = typeof email === 'string' && claims['email_verified'] !== false && emailProblem(email) === null;
  const externalId = externalIdClaim === null ? null : claims[externalIdClaim];
  return {
    ...{ issuer, subject, name: claims[usernameClaim], email: isEmail ? email : null },
    externalId: typeof externalId === 'string' && externalId !== '' && !externalId.includes('\0') ? externalId : null,
  };
}

/** The person's name where an account can have it. */
export function accountNameOf({ name }: Person): string | null {
  return typeof name === 'string' && accountNameProblem(name) === null ? name : null;
}

/** The accounts that exist for a person. */
export interface Present {
  /** The account of the person. */
  linked: Account | null;
  /** The account that SCIM made or adopted for the person's external id. */
  pushed: FoundAccount | null;
  /** The account that has exactly the person's name. */
  named: FoundAccount | null;
}

interface FoundAccount {
  account: Account;
  isLinked: boolean;
}

export type PersonDecision =
  | { kind: 'sign-in'; account: Account }
  | { kind: 'link'; account: Account }
  | { kind: 'create'; username: string; email: string | null }
  | Failed<PersonRefusal>;

export type PersonRefusal = Extract<
  SignInFailure,
  'name_missing' | 'name_invalid' | 'name_taken' | 'account_missing' | 'account_deactivated'
>;

/** Settings. */
export interface PersonRules {
  createAccounts: boolean;
  externalIdClaim: string | null;
}

/**
 * The account of a person. A linked person keeps the account, whatever the names are later. By external id or name an account is found
 * once, and only if nobody can sign in to it: never one with a password. Where SCIM's external id is a claim, an account of SCIM is
 * not found by its name, which people may be able to change.
 */
export function decidePerson(
  person: Person,
  { linked, pushed, named }: Present,
  { createAccounts, externalIdClaim }: PersonRules,
): PersonDecision {
  if (linked !== null) return linked.isActive ? { kind: 'sign-in', account: linked } : deactivated(linked);
  if (pushed !== null) return first(pushed);
  if (person.name === undefined || person.name === null || person.name === '') return refuse('name_missing');
  const username = accountNameOf(person);
  if (username === null) return refuse('name_invalid');
  if (named !== null) {
    const isOfScim = externalIdClaim !== null && named.account.source === 'scim';
    return isOfScim ? refuse('name_taken', named.account) : first(named);
  }
  return createAccounts ? { kind: 'create', username, email: person.email } : refuse('account_missing');
}

/** The decision at the first sign-in. */
function first({ account, isLinked }: FoundAccount): PersonDecision {
  if (account.hasPassword || isLinked) return refuse('name_taken', account);
  return account.isActive ? { kind: 'link', account } : deactivated(account);
}

function deactivated(account: Account): PersonDecision {
  return refuse('account_deactivated', account);
}

function refuse(code: PersonRefusal, account: Account | null = null): PersonDecision {
  return failure(code, 'person', account);
}
