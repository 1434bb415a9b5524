import { createHash } from 'node:crypto';
import type { Account } from '../../../users/domain/account.js';

/** Milliseconds within which a person must sign in at the provider. */
export const FLOW_LIFETIME_MS = 600_000;

/** Milliseconds within which a web client must exchange its code. */
export const CODE_LIFETIME_MS = 60_000;

/** The content of the sealed `state`, which the provider returns, so that a failure can redirect to the client even if the browser sends no cookie. */
export interface FlowState {
  returnTo: string;
  /** Milliseconds since 1970. */
  startedAt: number;
}

/** The purpose of a redirect to the provider. */
export type FlowPurpose =
  /** Opens a session. `challenge`: a web client's challenge (RFC 7636, S256); null for the console, which gets a cookie instead of a code. */
  | { kind: 'sign-in'; challenge: string | null; isForced: boolean }
  /** Confirms a session of the console. Has the session's id, because browsers send no session cookie on the way back from the provider. */
  | { kind: 'confirm'; userId: number; sessionId: string }
  /** Links an account with a password to the person who signs in at the provider. */
  | { kind: 'link'; userId: number; sessionId: string };

/** Secrets of one flow: PKCE's verifier (RFC 7636) and the nonce (OpenID Connect Core 3.1.2.1). */
export interface FlowSecrets {
  nonce: string;
  verifier: string;
}

/** The content of the sealed cookie that the browser keeps until it returns from the provider. */
export interface FlowCookie extends FlowSecrets {
  purpose: FlowPurpose;
}

/** Reasons of failed sign-ins, confirmations and links, sent as `error=` in the return address. Stable, and explained in docs/identity.md. */
export type SignInFailure =
  | 'sign_in_cancelled'
  | 'sign_in_expired'
  | 'sign_in_replayed'
  | 'other_browser'
  | 'wrong_issuer'
  | 'provider_refused'
  | 'provider_unavailable'
  | 'answer_invalid'
  | 'clocks_differ'
  | 'busy'
  | 'too_many_requests'
  | 'subject_invalid'
  | 'name_missing'
  | 'name_invalid'
  | 'name_taken'
  | 'account_missing'
  | 'account_deactivated'
  | 'other_person'
  | 'not_signed_in_anew'
  | 'session_ended'
  | 'already_linked'
  | 'person_linked';

export interface Failure<Code = SignInFailure> {
  kind: 'failed';
  code: Code;
  /** Text for the log and the audit event. Never contains text that the provider wrote. */
  reason: string;
  account: Account | null;
}

export function failure<Code extends string>(
  code: Code,
  reason: string,
  account: Account | null = null,
): Failure<Code> {
  return { kind: 'failed', code, reason, account };
}

/** The problem of a text as PKCE's verifier (RFC 7636 section 4.1); null: there is none. */
export function verifierProblem(text: string): string | null {
  return /^[\w.~-]{43,128}$/.test(text) ? null : 'must be a verifier of 43 to 128 characters (RFC 7636)';
}

export function isVerifierOf(challenge: string, verifier: string): boolean {
  return createHash('sha256').update(verifier).digest('base64url') === challenge;
}

/** The most concurrent sign-ins of one browser, such as in several tabs. */
const MAX_FLOW_COOKIES = 5;

const COOKIE_PREFIX = '__Host-grantline-oidc-';

/** The name of a sign-in's cookie. Each sign-in has its own, so that a second tab does not break the first. */
export function cookieName(state: string): string {
  return COOKIE_PREFIX + state.slice(0, 8);
}

/** Names of the cookies to clear when a new sign-in begins: those of the oldest sign-ins, which browsers send first. */
export function surplusCookies(cookies: ReadonlyMap<string, string>): string[] {
  const flowCookies = [...cookies.keys()].filter((name) => name.startsWith(COOKIE_PREFIX));
  return flowCookies.slice(0, Math.max(0, flowCookies.length - MAX_FLOW_COOKIES + 1));
}

/** A `Set-Cookie` header: for this host only, over https or loopback only, not for scripts. `Lax`, so that the cookie is sent when the provider redirects back. */
export function setCookieHeader(name: string, value: string, seconds: number): string {
  return `${name}=${value}; Max-Age=${seconds}; Path=/; Secure; HttpOnly; SameSite=Lax`;
}

export function clearCookieHeader(name: string): string {
  return setCookieHeader(name, '', 0);
}

/** The most characters of a return address, because `state` contains the address. */
const MAX_ADDRESS_LENGTH = 1000;

/**
 * The problem of a web client's return address; null: none.
 * @param allowedAddresses exact addresses (RFC 9700 section 4.1.3), and origins, which allow all their addresses
 */
export function returnAddressProblem(address: string, allowedAddresses: readonly string[]): string | null {
  if (address.length > MAX_ADDRESS_LENGTH) return `must have at most ${MAX_ADDRESS_LENGTH} characters`;
  if (!URL.canParse(address)) return 'must be an address such as https://app.example.org/signed-in';
  const { origin, username, password, hash } = new URL(address);
  if (!allowedAddresses.includes(address) && !allowedAddresses.includes(origin))
    return 'must be an address of AUTH_OIDC_RETURN_ORIGINS, to the letter, or at one of its origins';
  if (username !== '' || password !== '') return 'must not name a user';
  return hash === '' ? null : 'must have no fragment';
}

/** The address with these parameters added. Each replaces a parameter of the same name. */
export function addParameters(address: string, parameters: Readonly<Record<string, string>>): string {
  const url = new URL(address);
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}

/** Address of the console's sign-in page. The page shows why a sign-in failed, and redirects to `returnPath` after a success. */
export function consoleReturnAddress(publicUrl: string, returnPath: string): string {
  return addParameters(new URL('/sign-in', publicUrl).href, { to: returnPath });
}

/** Matches a path with its query if both are printable ASCII. Tabs must not match: URL parsers drop them, so `/<tab>/host` leads to another host. */
export const PAGE_PATH = '^/([!-.0-\\[\\]-~][!-~]*)?$';

const PAGE_PATH_PATTERN = new RegExp(PAGE_PATH);

export function pagePathProblem(path: string): string | null {
  return path.length <= MAX_ADDRESS_LENGTH && PAGE_PATH_PATTERN.test(path)
    ? null
    : 'must be a path such as /people/12?tab=groups';
}
