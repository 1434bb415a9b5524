import { isForAdministrators, type TokenScope } from '../../../platform/domain/token-scope.js';
import type { Account, Role } from '../../../users/domain/account.js';

/** A token of a program, which acts for an account. */
export interface ApiToken {
  /** Part of the token. */
  id: string;
  name: string;
  scopes: readonly TokenScope[];
  createdAt: Date;
  expiresAt: Date;
  /** To the minute; null: never. */
  lastUsedAt: Date | null;
}

/** What somebody asks a token for. */
export type WantedToken = Pick<ApiToken, 'name' | 'scopes' | 'expiresAt'>;

/** An account's tokens at one time. */
export const MOST_TOKENS = 50;

export const DAY_MS = 86_400_000;

/** Why nobody can have that token; null: the role and the limit of the settings allow it. */
export function wishProblem(
  { scopes, expiresAt }: WantedToken,
  role: Role,
  { now, maxDays }: { now: Date; maxDays: number },
): { kind: 'administrator-required' } | { kind: 'expiry'; message: string } | null {
  if (role !== 'admin' && scopes.some(isForAdministrators)) return { kind: 'administrator-required' };
  const days = (expiresAt.getTime() - now.getTime()) / DAY_MS;
  if (days <= 0) return { kind: 'expiry', message: 'must be in the future' };
  return days <= maxDays ? null : { kind: 'expiry', message: `must be at most ${maxDays} days from now` };
}

/** A token as a request shows it, with the account that it acts for. */
export interface AdmittedToken extends Pick<ApiToken, 'id' | 'name' | 'scopes'> {
  account: Account;
  hasExpired: boolean;
  /** It has no password, and its person has not signed in at the identity provider for too long. */
  isOwnerAway: boolean;
}

export interface AdmissionTimes {
  now: Date;
  /** Since when whoever has no password must have signed in at the identity provider; null: they need not. */
  signedInSince: Date | null;
}

/** Where tokens are kept; of their texts, the digests. All methods but `admit` and the count name the owner. */
export abstract class ApiTokenStore {
  /** Null: no active account has it. One query by the primary key; a second one notes the use, once a minute. */
  abstract admit(id: string, digest: Buffer, times: AdmissionTimes): Promise<AdmittedToken | null>;
  /** Removes the account's expired ones, and adds one if it is active and has less than MOST_TOKENS; within a transaction. */
  abstract add(userId: number, token: ApiToken, digest: Buffer): Promise<'added' | 'too-many' | 'not-active'>;
  /** The newest first; expired ones too, until the next is added. */
  abstract listOf(userId: number): Promise<ApiToken[]>;
  /** `unknown`: the account never had such a token, or it has expired and been removed since. */
  abstract revoke(userId: number, id: string, at: Date): Promise<ApiToken | 'had-ended' | 'unknown'>;
  /** @returns how many unexpired ones */
  abstract revokeAllOf(userId: number, at: Date): Promise<number>;
  /** How many unexpired ones of administrators were not used since then, or expire later than that. */
  abstract staleOfAdministrators(now: Date, unusedSince: Date, latestExpiry: Date): Promise<number>;
}
