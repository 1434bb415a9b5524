import { Refused } from '../../../kernel/errors.js';
import { secretDigest } from '../../../kernel/secret.js';
import { isForAdministrators, type TokenScope } from '../../../kernel/token-scope.js';
import type { Account, Role } from '../../../users/domain/account.js';

/** A token with which a program acts for an account. */
export interface ApiToken {
  /** The public part of the token's text. */
  id: string;
  name: string;
  scopes: readonly TokenScope[];
  createdAt: Date;
  expiresAt: Date;
  /** Time of the last use, accurate to the minute; null: never used. */
  lastUsedAt: Date | null;
}

/** A request for a new token. */
export type WantedToken = Pick<ApiToken, 'name' | 'scopes' | 'expiresAt'>;

export const MOST_TOKENS = 50;

export const DAY_MS = 86_400_000;

/** @throws Refused if the role or the settings' limit does not allow the token */
export function checkNewToken(
  { scopes, expiresAt }: WantedToken,
  role: Role,
  { now, maxDays }: { now: Date; maxDays: number },
): void {
  if (role !== 'admin' && scopes.some(isForAdministrators)) {
    throw new Refused('administrator_required', { detail: 'Scopes of administration are for administrators.' });
  }
  const days = (expiresAt.getTime() - now.getTime()) / DAY_MS;
  if (days > 0 && days <= maxDays) return;
  const message = days <= 0 ? 'must be in the future' : `must be at most ${maxDays} days from now`;
  throw new Refused('validation_failed', { errors: [{ field: 'expires_at', message }] });
}

/** An admitted token, with the account that it acts for. */
export interface AdmittedToken extends Pick<ApiToken, 'id' | 'name' | 'scopes'> {
  account: Account;
  hasExpired: boolean;
  /** Whether the account has no password and its person has not signed in at the identity provider for too long. */
  isOwnerAway: boolean;
}

/** `glt_`, then in base62 an id of 8 characters, 32 random bytes as 43 characters, and a checksum of 6. */
const FORM = /^(glt_([0-9A-Za-z]{8})[0-9A-Za-z]{43})([0-9A-Za-z]{6})$/;

/** Whether a text has the form of a token's id. Other texts cost no query. */
export function isTokenId(text: string): boolean {
  return /^[0-9A-Za-z]{8}$/.test(text);
}

/** Random bytes of a token: 6 for its id, 32 for its secret. */
export const TOKEN_BYTES = 38;

/** A new token's text and the id in it. */
export function newTokenText(random: Buffer): { id: string; text: string } {
  const id = base62(random.subarray(0, 6), 8);
  const unchecked = `glt_${id}${base62(random.subarray(6), 43)}`;
  return { id, text: unchecked + checksum(unchecked) };
}

/** The id in a token's text. Null without the right form and checksum, so that typing errors and scanners cost no query. */
export function idInToken(text: string): string | null {
  const [, unchecked = '', id = '', check] = FORM.exec(text) ?? [];
  return check !== undefined && checksum(unchecked) === check ? id : null;
}

/** The first 32 bits of the SHA-256 digest in base62. */
function checksum(unchecked: string): string {
  return base62(secretDigest(unchecked).subarray(0, 4), 6);
}

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** The last `length` digits of the bytes as a big-endian number. */
function base62(bytes: Buffer, length: number): string {
  let rest = BigInt(`0x${bytes.toString('hex')}`);
  let text = '';
  for (; text.length < length; rest /= 62n) text = (DIGITS[Number(rest % 62n)] ?? '') + text;
  return text;
}
