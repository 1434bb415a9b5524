import { type Account, emailProblem } from '../../../users/domain/account.js';
import { accountNameProblem } from '../../../users/domain/account-name.js';
import type { Claims } from './identity-provider.js';
import type { SignInFailure } from './sign-in-failure.js';

/** Somebody whom the provider vouches for. */
export interface Person {
  issuer: string;
  /** Theirs for good at this issuer. */
  subject: string;
  /** As the claim has it; of any type. */
  name: unknown;
  email: string | null;
}

/** Null: there is no subject that could be kept. */
export function personOf(
  claims: Claims,
  { issuer, subjectClaim, usernameClaim }: { issuer: string; subjectClaim: string; usernameClaim: string },
): Person | null {
  const subject = claims[subjectClaim];
  if (typeof subject !== 'string' || !isSubject(subject)) return null;
  const email = claims['email'];
  const isEmail = typeof email === 'string' && claims['email_verified'] !== false && emailProblem(email) === null;
  return { issuer, subject, name: claims[usernameClaim], email: isEmail ? email : null };
}

/** OpenID Connect Core 2: at most 255 ASCII characters. */
function isSubject(text: string): boolean {
  return /^[\x20-\x7e]{1,255}$/.test(text);
}

/** A name that an account could have; null: the claim is none. */
export function accountNameOf({ name }: Person): string | null {
  return typeof name === 'string' && accountNameProblem(name) === null ? name : null;
}

/** What is there already when somebody comes. */
export interface Present {
  /** The account of the person. */
  linked: Account | null;
  /** The account that has exactly the person's name. */
  named: { account: Account; isLinked: boolean } | null;
}

export type PersonDecision =
  | { kind: 'sign-in'; account: Account }
  | { kind: 'link'; account: Account }
  | { kind: 'create'; username: string; email: string | null }
  | { kind: 'refuse'; code: SignInFailure; account: Account | null };

/**
 * Whose account it is. A person keeps an account whatever its name or the person's is later. By name an account is found once,
 * and only one that nobody can sign in to: never one with a password.
 */
export function decidePerson(
  person: Person,
  { linked, named }: Present,
  { createAccounts }: { createAccounts: boolean },
): PersonDecision {
  if (linked !== null) return linked.isActive ? { kind: 'sign-in', account: linked } : deactivated(linked);
  if (person.name === undefined || person.name === null || person.name === '') return refuse('name_missing');
  const username = accountNameOf(person);
  if (username === null) return refuse('name_invalid');
  if (named !== null) {
    const { account, isLinked } = named;
    if (account.hasPassword || isLinked) return refuse('name_taken', account);
    return account.isActive ? { kind: 'link', account } : deactivated(account);
  }
  return createAccounts ? { kind: 'create', username, email: person.email } : refuse('account_missing');
}

function deactivated(account: Account): PersonDecision {
  return refuse('account_deactivated', account);
}

function refuse(code: SignInFailure, account: Account | null = null): PersonDecision {
  return { kind: 'refuse', code, account };
}
