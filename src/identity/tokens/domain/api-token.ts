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

export type RequestedToken = Pick<ApiToken, 'name' | 'scopes' | 'expiresAt'>;

export const MAX_TOKENS = 50;

export const DAY_MS = 86_400_000;

/** Checks a requested token. @throws Refused if the role does not allow its scopes or `maxDays` does not allow its expiry */
export function checkNewToken(
  { scopes, expiresAt }: RequestedToken,
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

/** The form of a token's text: `glt_`, then in base62 an id of 8 characters, 32 random bytes as 43 characters, a checksum of 6 characters. */
const TOKEN_PATTERN = /^(glt_([0-9A-Za-z]{8})[0-9A-Za-z]{43})([0-9A-Za-z]{6})$/;

/** Whether a text has the form of a token's id. Other texts are refused without a query. */
export function isTokenId(text: string): boolean {
  return /^[0-9A-Za-z]{8}$/.test(text);
}

/** Random bytes of a token: 6 for its id, 32 for its secret. */
export const TOKEN_BYTES = 38;

export function newTokenText(randomBytes: Buffer): { id: string; text: string } {
  const id = base62(randomBytes.subarray(0, 6), 8);
  const tokenBody = `glt_${id}${base62(randomBytes.subarray(6), 43)}`;
  return { id, text: tokenBody + checksum(tokenBody) };
}

/** The id in a token's text. Null if the form or checksum is wrong, so that typing errors and scanners cause no query. */
export function idInToken(text: string): string | null {
  const [, tokenBody = '', id = '', presentedChecksum] = TOKEN_PATTERN.exec(text) ?? [];
  return presentedChecksum !== undefined && checksum(tokenBody) === presentedChecksum ? id : null;
}

/** The first 32 bits of the SHA-256 digest in base62. */
function checksum(tokenBody: string): string {
  return base62(secretDigest(tokenBody).subarray(0, 4), 6);
}

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** The last `length` digits of the bytes as a big-endian number. */
function base62(bytes: Buffer, length: number): string {
  let remainingValue = BigInt(`0x${bytes.toString('hex')}`);
  let text = '';
  for (; text.length < length; remainingValue /= 62n) text = (DIGITS[Number(remainingValue % 62n)] ?? '') + text;
  return text;
}
