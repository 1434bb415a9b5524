import { Refused } from '../../kernel/errors.js';
import { type JsonMember, readJson } from '../../kernel/json-reader.js';

/** Claims of our tokens: user (`sub`), session (`sid`) and id (`jti`). */
export interface Claims {
  userId: number;
  sessionId: string;
  jti: string;
}

export type TokenType = 'access' | 'refresh';

/** Why a token is invalid: logged with the request and never sent, since a client can only sign in again. */
export type TokenFault =
  | 'several-headers'
  | 'syntax'
  | 'signature'
  /** A claim is missing, or does not have the form that this service gives it. */
  | 'claims'
  | 'type'
  | 'audience'
  | 'not-yet-valid'
  /** Its session ended or expired, its account was deactivated, or it was never issued. */
  | 'session-ended'
  | 'reused'
  /** An API token without the right form and checksum. */
  | 'token-form'
  /** An API token that was revoked or never issued, or whose account is deactivated. */
  | 'token-unknown'
  /** An API token of an account without a password, whose owner has not signed in at the identity provider for AUTH_OIDC_TOKEN_DAYS. */
  | 'owner-away';

/** The leeway for an `iat` from a replica whose clock runs ahead. `exp` has no leeway. */
const MAX_AHEAD_MS = 60_000;

/**
 * Validates the payload of a token with a valid signature (RFC 7519 section 4.1). The signature library accepts a missing or absurd
 * `exp`, a future `iat` and a payload that is not an object; here each used claim must be present in its only form. A token with an
 * `aud` is for another party, because this service's tokens have none.
 * @throws Refused `token_invalid`, `token_expired`
 */
export function judgeClaims(payload: unknown, type: TokenType, now: Date): Claims {
  if (typeof payload !== 'object' || payload === null) throw invalidToken('claims');
  const { sub, sid, jti, iat, exp, nbf, aud, type: presented } = payload as Record<string, unknown>;
  if (presented !== type) throw invalidToken('type');
  if (aud !== undefined) throw invalidToken('audience');
  const userId = readUserId(sub);
  if (userId === null || typeof sid !== 'string' || !UUID.test(sid)) throw invalidToken('claims');
  if (typeof jti !== 'string' || jti === '' || !isNumericDate(iat) || !isNumericDate(exp)) throw invalidToken('claims');
  if (nbf !== undefined && !isNumericDate(nbf)) throw invalidToken('claims');
  const notBefore = Math.max(iat * 1000 - MAX_AHEAD_MS, (nbf ?? 0) * 1000);
  if (notBefore > now.getTime()) throw invalidToken('not-yet-valid');
  if (exp * 1000 <= now.getTime()) throw new Refused('token_expired');
  return { userId, sessionId: sid, jti };
}

export function invalidToken(reason: TokenFault, detail?: string): Refused {
  return new Refused('token_invalid', { reason, ...(detail !== undefined && { detail }) });
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** The latest time of a Date, in seconds. */
const MAX_NUMERIC_DATE = 8_640_000_000_000;

function isNumericDate(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0 && (value as number) <= MAX_NUMERIC_DATE;
}

/** The user's id. `sub` must be its canonical decimal text, within PostgreSQL's integer. */
function readUserId(sub: unknown): number | null {
  if (typeof sub !== 'string' || !/^[1-9][0-9]{0,9}$/.test(sub)) return null;
  const id = Number(sub);
  return id <= 2_147_483_647 ? id : null;
}

/** Issued tokens have about 330 characters; longer texts are not decoded. */
const MAX_LENGTH = 1024;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Whether a text has the syntax of this service's tokens (RFC 7515 section 3.1, RFC 7519 section 7.2): three parts in canonical
 * base64url, header and payload JSON objects without duplicate names, `alg` HS256, `typ` JWT if any, and no `crit`, because no
 * extension is supported (RFC 7515 section 4.1.11). jsonwebtoken checks the signature and little else.
 */
export function hasJwsSyntax(token: string): boolean {
  if (token.length > MAX_LENGTH) return false;
  const parts = token.split('.');
  const [header, payload, signature] = parts;
  if (parts.length !== 3 || header === undefined || payload === undefined || signature === undefined) return false;
  if (decode(signature) === null) return false;
  const fields = readObject(header);
  if (fields === null || readObject(payload) === null) return false;
  const typ = textOf(fields, 'typ');
  const isJwt = typ === undefined || typ?.toUpperCase() === 'JWT';
  return textOf(fields, 'alg') === 'HS256' && isJwt && textOf(fields, 'crit') === undefined;
}

function decode(part: string): Buffer | null {
  const bytes = Buffer.from(part, 'base64url');
  // Node's decoder ignores foreign characters, padding and stray bits, so the text is compared with Node's own encoding.
  return part !== '' && bytes.toString('base64url') === part ? bytes : null;
}

/** The members of a JSON object without duplicate names, of which JSON.parse would silently keep the last. */
function readObject(part: string): JsonMember[] | null {
  const bytes = decode(part);
  if (bytes === null) return null;
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return null;
  }
  const { root, faults } = readJson(text);
  return faults.length === 0 && root?.kind === 'object' ? root.members : null;
}

function textOf(members: readonly JsonMember[], key: string): string | null | undefined {
  const member = members.find((candidate) => candidate.key === key);
  if (member === undefined) return undefined;
  return member.value.kind === 'string' ? member.value.value : null;
}
