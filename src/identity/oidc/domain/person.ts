import { type Account, accountNameProblem, emailProblem } from '../../../users/domain/account.js';
import { type Claims, isIdentifier } from './claims.js';
import { type Failure, failure, type SignInFailure } from './flow.js';

/** A person authenticated by the provider. */
export interface Person {
  issuer: string;
  /** Identifies the person at this issuer permanently. */
  subject: string;
  /** The value of the name claim, of any type. */
  name: unknown;
  email: string | null;
  /** SCIM's external id of the person, read from a configured claim; null: the claim is absent. */
  externalId: string | null;
}

/** The person that claims describe. Null: the claim for the subject is no valid identifier. */
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

/** The existing accounts that may belong to a person. */
export interface PersonAccounts {
  /** The account that is linked to the person. */
  linkedAccount: Account | null;
  /** Whether SCIM deleted the linked account. */
  isLinkedAccountDeleted: boolean;
  /** The account that SCIM created or adopted for the person's external id. */
  externalIdAccount: CandidateAccount | null;
  /** The account that has exactly the person's name. */
  accountByName: CandidateAccount | null;
}

interface CandidateAccount {
  account: Account;
  isLinked: boolean;
}

export type PersonDecision =
  | { kind: 'sign-in'; account: Account }
  | { kind: 'link'; account: Account }
  | { kind: 'create'; username: string; email: string | null }
  | Failure<PersonRefusal>;

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
 * Decides which account a person signs in to: the linked one, else the one with the external id, else the one with the name, else a new
 * one. An account that is found by external id or name must have no password and no link. If `externalIdClaim` is set, an account of SCIM
 * is not found by name, because people may be able to change their names at the provider. A person whom SCIM deleted and pushed again gets
 * the new account in the same way.
 */
export function decidePerson(person: Person, accounts: PersonAccounts, rules: PersonRules): PersonDecision {
  const { linkedAccount, isLinkedAccountDeleted } = accounts;
  if (linkedAccount === null) return decideUnlinkedPerson(person, accounts, rules);
  if (linkedAccount.isActive) return { kind: 'sign-in', account: linkedAccount };
  const decision = isLinkedAccountDeleted ? decideUnlinkedPerson(person, accounts, rules) : null;
  const isPushedAgain = decision?.kind === 'link' && decision.account.source === 'scim';
  return isPushedAgain ? decision : deactivatedDecision(linkedAccount);
}

function decideUnlinkedPerson(
  person: Person,
  { externalIdAccount, accountByName }: PersonAccounts,
  { createAccounts, externalIdClaim }: PersonRules,
): PersonDecision {
  if (externalIdAccount !== null) return firstSignInDecision(externalIdAccount);
  if (person.name === undefined || person.name === null || person.name === '') return refusedDecision('name_missing');
  const username = accountNameOf(person);
  if (username === null) return refusedDecision('name_invalid');
  if (accountByName !== null) {
    const isManagedByScim = externalIdClaim !== null && accountByName.account.source === 'scim';
    return isManagedByScim ? refusedDecision('name_taken', accountByName.account) : firstSignInDecision(accountByName);
  }
  return createAccounts ? { kind: 'create', username, email: person.email } : refusedDecision('account_missing');
}

/** The decision at a person's first sign-in, if an account with the person's external id or name exists. */
function firstSignInDecision({ account, isLinked }: CandidateAccount): PersonDecision {
  if (account.hasPassword || isLinked) return refusedDecision('name_taken', account);
  return account.isActive ? { kind: 'link', account } : deactivatedDecision(account);
}

function deactivatedDecision(account: Account): PersonDecision {
  return refusedDecision('account_deactivated', account);
}

function refusedDecision(code: PersonRefusal, account: Account | null = null): PersonDecision {
  return failure(code, 'person', account);
}
