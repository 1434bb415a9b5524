/** The claims of our tokens: user (`sub`), purpose (`type`), session (`sid`), id (`jti`) and lifetime. */
export interface Claims {
  type: TokenType;
  userId: number;
  sessionId: string;
  jti: string;
  expiresAt: Date;
}

export type TokenType = 'access' | 'refresh';
export type ClaimsVerdict = { kind: 'good'; claims: Claims } | { kind: 'invalid' } | { kind: 'expired' };

/** How far the clock of a replica that issues a token may run ahead of ours. `exp` has no such leeway. */
const MAX_AHEAD_MS = 60_000;
const INVALID: ClaimsVerdict = { kind: 'invalid' };

/**
 * Judges the payload of a token whose signature is good (source document 2.6; RFC 7519 section 4.1). The signature library
 * accepts a missing or absurd `exp`, a future `iat` and a payload that is not an object; here every claim that we use must
 * be there in its only form. A token with an `aud` is for another party: we have no audience name.
 */
export function judgeClaims(payload: unknown, type: TokenType, now: Date): ClaimsVerdict {
  if (typeof payload !== 'object' || payload === null) return INVALID;
  const { sub, sid, jti, iat, exp, nbf, aud, type: presented } = payload as Record<string, unknown>;
  if (presented !== type || aud !== undefined) return INVALID;
  const userId = readUserId(sub);
  if (userId === null || typeof sid !== 'string' || !UUID.test(sid)) return INVALID;
  if (typeof jti !== 'string' || jti === '' || !isNumericDate(iat) || !isNumericDate(exp)) return INVALID;
  if (iat * 1000 > now.getTime() + MAX_AHEAD_MS) return INVALID;
  if (nbf !== undefined && (!isNumericDate(nbf) || nbf * 1000 > now.getTime())) return INVALID;
  if (exp * 1000 <= now.getTime()) return { kind: 'expired' };
  return { kind: 'good', claims: { type, userId, sessionId: sid, jti, expiresAt: new Date(exp * 1000) } };
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
