import { type Account, accountNameProblem, emailProblem } from '../../../users/domain/account.js';
import { type Claims, isIdentifier } from './claims.js';
import { type Failed, failure, type SignInFailure } from './flow.js';

/** A person authenticated by the provider. */
export interface Person {
  issuer: string;
  /** Identifies the person at this issuer permanently. */
  subject: string;
  /** The value of the name claim, of any type. */
  name: unknown;
  email: string | null;
  /** SCIM's id of the person, read from a configured claim; null: the claim is absent. */
  externalId: string | null;
}

/** The person of claims. Null: the subject is no valid identifier. */
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

/** The person's name if it is valid for an account; null otherwise. */
export function accountNameOf({ name }: Person): string | null {
  return typeof name === 'string' && accountNameProblem(name) === null ? name : null;
}

/** The existing accounts that may be a person's. */
export interface PersonAccounts {
  /** The account that is linked to the person. */
  linked: Account | null;
  /** The account that SCIM created or adopted for the person's external id. */
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

/** The settings that `decidePerson` depends on. */
export interface PersonRules {
  createAccounts: boolean;
  externalIdClaim: string | null;
}

/**
 * Decides which account a person signs in to. A linked person keeps the account, whatever the names become. An unlinked person gets
 * the account with the external id or the name, if it has neither a password nor a link. If SCIM's external id is a claim, an account
 * of SCIM is not found by name, because people may be able to change their names.
 */
export function decidePerson(
  person: Person,
  { linked, pushed, named }: PersonAccounts,
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

/** The decision for a found account at the person's first sign-in. */
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
