import { Refused } from '../../kernel/errors.js';
import { type JsonMember, readJson } from '../../kernel/json-reader.js';

/** Claims of this service's tokens: the user (`sub`), the session (`sid`) and the token's id (`jti`). */
export interface Claims {
  userId: number;
  sessionId: string;
  jti: string;
}

export type TokenType = 'access' | 'refresh';

/** Reasons why a token is invalid. They are logged with the request and never sent, because a client can only sign in again in any case. */
export type TokenFault =
  | 'several-headers'
  | 'syntax'
  | 'signature'
  /** A claim is missing, or has another form than in this service's tokens. */
  | 'claims'
  | 'type'
  | 'audience'
  | 'not-yet-valid'
  /** The token's session ended or expired, its account was deactivated, or the token was never issued. */
  | 'session-ended'
  | 'reused'
  /** An API token without the right form and checksum. */
  | 'token-form'
  /** An API token that was revoked or never issued, or whose account is deactivated. */
  | 'token-unknown'
  /** An API token of an account without a password. The owner's last sign-in at the identity provider is more than AUTH_OIDC_TOKEN_DAYS ago. */
  | 'owner-away';

/** The leeway for an `iat` from a replica whose clock runs ahead. `exp` has no leeway. */
const MAX_CLOCK_LEAD_MS = 60_000;

/**
 * Validates the payload of a token with a valid signature (RFC 7519 section 4.1). Each claim must have exactly the form that this service
 * issues, because the signature library accepts a missing `exp`, a future `iat` and a payload that is not an object. This service's tokens
 * have no `aud`, so a token with an `aud` is for another party.
 * @throws Refused `token_invalid`, `token_expired`
 */
export function judgeClaims(payload: unknown, type: TokenType, now: Date): Claims {
  if (typeof payload !== 'object' || payload === null) throw invalidTokenRefusal('claims');
  const { sub, sid, jti, iat, exp, nbf, aud, type: presentedType } = payload as Record<string, unknown>;
  if (presentedType !== type) throw invalidTokenRefusal('type');
  if (aud !== undefined) throw invalidTokenRefusal('audience');
  const userId = readUserId(sub);
  if (userId === null || typeof sid !== 'string' || !UUID.test(sid)) throw invalidTokenRefusal('claims');
  if (typeof jti !== 'string' || jti === '' || !isNumericDate(iat) || !isNumericDate(exp))
    throw invalidTokenRefusal('claims');
  if (nbf !== undefined && !isNumericDate(nbf)) throw invalidTokenRefusal('claims');
  const notBefore = Math.max(iat * 1000 - MAX_CLOCK_LEAD_MS, (nbf ?? 0) * 1000);
  if (notBefore > now.getTime()) throw invalidTokenRefusal('not-yet-valid');
  if (exp * 1000 <= now.getTime()) throw new Refused('token_expired');
  return { userId, sessionId: sid, jti };
}

export function invalidTokenRefusal(reason: TokenFault, detail?: string): Refused {
  return new Refused('token_invalid', { reason, ...(detail !== undefined && { detail }) });
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** The latest time that a JavaScript Date can hold, in seconds since 1970. */
const MAX_NUMERIC_DATE = 8_640_000_000_000;

function isNumericDate(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0 && (value as number) <= MAX_NUMERIC_DATE;
}

/** The user's id. `sub` must be its decimal text without leading zeros, within PostgreSQL's integer. */
function readUserId(sub: unknown): number | null {
  if (typeof sub !== 'string' || !/^[1-9][0-9]{0,9}$/.test(sub)) return null;
  const id = Number(sub);
  return id <= 2_147_483_647 ? id : null;
}

/** The greatest length of a text that is decoded, in characters. Issued tokens have about 330. */
const MAX_TOKEN_LENGTH = 1024;
const utf8Decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Whether a text has the syntax of this service's tokens (RFC 7515 section 3.1, RFC 7519 section 7.2): three parts in canonical
 * base64url, header and payload JSON objects without duplicate names, `alg` HS256, `typ` JWT if any, and no `crit`, because no
 * extension is supported (RFC 7515 section 4.1.11). jsonwebtoken checks the signature and little else.
 */
export function hasJwsSyntax(token: string): boolean {
  if (token.length > MAX_TOKEN_LENGTH) return false;
  const parts = token.split('.');
  const [header, payload, signature] = parts;
  if (parts.length !== 3 || header === undefined || payload === undefined || signature === undefined) return false;
  if (decodeBase64url(signature) === null) return false;
  const headerMembers = readJsonObject(header);
  if (headerMembers === null || readJsonObject(payload) === null) return false;
  const typ = memberText(headerMembers, 'typ');
  const isJwt = typ === undefined || typ?.toUpperCase() === 'JWT';
  return memberText(headerMembers, 'alg') === 'HS256' && isJwt && memberText(headerMembers, 'crit') === undefined;
}

function decodeBase64url(part: string): Buffer | null {
  const bytes = Buffer.from(part, 'base64url');
  // Node's decoder ignores foreign characters, padding and stray bits, so the decoded bytes are encoded again and compared with the text.
  return part !== '' && bytes.toString('base64url') === part ? bytes : null;
}

/** The members of a JSON object. Null for duplicate names, of which JSON.parse would silently keep the last. */
function readJsonObject(part: string): JsonMember[] | null {
  const bytes = decodeBase64url(part);
  if (bytes === null) return null;
  let text: string;
  try {
    text = utf8Decoder.decode(bytes);
  } catch {
    return null;
  }
  const { root, faults } = readJson(text);
  return faults.length === 0 && root?.kind === 'object' ? root.members : null;
}

/** The text of a member. Undefined: there is no such member; null: its value is not a text. */
function memberText(members: readonly JsonMember[], key: string): string | null | undefined {
  const member = members.find((candidate) => candidate.key === key);
  if (member === undefined) return undefined;
  return member.value.kind === 'string' ? member.value.value : null;
}
