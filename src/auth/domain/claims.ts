/** What is read of a token that is ours: user (`sub`), session (`sid`) and id (`jti`). */
export interface Claims {
  userId: number;
  sessionId: string;
  jti: string;
}

export type TokenType = 'access' | 'refresh';
export type ClaimsVerdict =
  | { kind: 'good'; claims: Claims }
  | { kind: 'invalid'; reason: TokenFault }
  | { kind: 'expired' };

/** Why a token is invalid. It is logged with the request and never sent: a client can do nothing about it but sign in again. */
export type TokenFault =
  | 'several-headers'
  | 'syntax'
  | 'signature'
  /** A claim is missing or has another form than ours. */
  | 'claims'
  | 'type'
  | 'audience'
  | 'not-yet-valid'
  /** No live session of an active account has it: ended, expired, deactivated, or never issued. */
  | 'session-ended'
  | 'reused'
  /** An API token that is not ours by its form or checksum. */
  | 'token-form'
  /** No API token of an active account is that: revoked, its account deactivated, or never made. */
  | 'token-unknown'
  /** An API token of an account without a password, whose person has not signed in at the identity provider for AUTH_OIDC_TOKEN_DAYS. */
  | 'owner-away';

/** How far the clock of a replica that issues a token may run ahead of ours. `exp` has no such leeway. */
const MAX_AHEAD_MS = 60_000;

/**
 * Judges the payload of a token whose signature is good (RFC 7519 section 4.1). The signature library
 * accepts a missing or absurd `exp`, a future `iat` and a payload that is not an object; here every claim that we use must
 * be there in its only form. A token with an `aud` is for another party: we have no audience name.
 */
export function judgeClaims(payload: unknown, type: TokenType, now: Date): ClaimsVerdict {
  if (typeof payload !== 'object' || payload === null) return invalid('claims');
  const { sub, sid, jti, iat, exp, nbf, aud, type: presented } = payload as Record<string, unknown>;
  if (presented !== type) return invalid('type');
  if (aud !== undefined) return invalid('audience');
  const userId = readUserId(sub);
  if (userId === null || typeof sid !== 'string' || !UUID.test(sid)) return invalid('claims');
  if (typeof jti !== 'string' || jti === '' || !isNumericDate(iat) || !isNumericDate(exp)) return invalid('claims');
  if (nbf !== undefined && !isNumericDate(nbf)) return invalid('claims');
  const notBefore = Math.max(iat * 1000 - MAX_AHEAD_MS, (nbf ?? 0) * 1000);
  if (notBefore > now.getTime()) return invalid('not-yet-valid');
  if (exp * 1000 <= now.getTime()) return { kind: 'expired' };
  return { kind: 'good', claims: { userId, sessionId: sid, jti } };
}

function invalid(reason: TokenFault): ClaimsVerdict {
  return { kind: 'invalid', reason };
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** The last moment that a Date can hold, in seconds. */
const MAX_NUMERIC_DATE = 8_640_000_000_000;

function isNumericDate(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0 && (value as number) <= MAX_NUMERIC_DATE;
}

/** `sub` is the id as a string in its only spelling: no sign, no leading zero, within PostgreSQL's integer. */
function readUserId(sub: unknown): number | null {
  if (typeof sub !== 'string' || !/^[1-9][0-9]{0,9}$/.test(sub)) return null;
  const id = Number(sub);
  return id <= 2_147_483_647 ? id : null;
}
