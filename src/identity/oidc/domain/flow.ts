import { createHash } from 'node:crypto';
import type { Account } from '../../../users/domain/account.js';

/** Milliseconds within which a person must sign in at the provider. */
export const FLOW_MS = 600_000;

/** Milliseconds within which a web client must exchange its code. */
export const CODE_MS = 60_000;

/** The sealed `state`, which the provider returns. With it, failures can redirect to the client even without a cookie. */
export interface FlowState {
  returnTo: string;
  /** Milliseconds since 1970. */
  startedAt: number;
}

/** The purpose of a redirect to the provider. */
export type FlowPurpose =
  /** Opens a session. `challenge`: the web client's (RFC 7636, S256); null: the console, which gets a cookie instead of a code. */
  | { kind: 'sign-in'; challenge: string | null; isAnew: boolean }
  /** Confirms a session of the console. The browser sends no session cookie on the way back from the provider's site. */
  | { kind: 'confirm'; userId: number; sessionId: string }
  /** Links an account with a password to the person. */
  | { kind: 'link'; userId: number; sessionId: string };

/** Secrets of one sign-in (RFC 7636, OpenID Connect Core 3.1.2.1). */
export interface FlowSecrets {
  nonce: string;
  verifier: string;
}

/** The sealed cookie that the browser keeps until it returns from the provider. */
export interface FlowCookie extends FlowSecrets {
  purpose: FlowPurpose;
}

/** Why a sign-in, confirmation or link failed: `error=` of the return address. Stable, and explained in docs/identity.md. */
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

export interface Failed<Code = SignInFailure> {
  kind: 'failed';
  code: Code;
  /** For the log and the audit event. Never text that the provider wrote. */
  reason: string;
  account: Account | null;
}

export function failure<Code extends string>(code: Code, reason: string, account: Account | null = null): Failed<Code> {
  return { kind: 'failed', code, reason, account };
}

/** The problem of a verifier (RFC 7636 section 4.1). */
export function verifierProblem(text: string): string | null {
  return /^[\w.~-]{43,128}$/.test(text) ? null : 'must be a verifier of 43 to 128 characters (RFC 7636)';
}

export function isVerifierOf(challenge: string, verifier: string): boolean {
  return createHash('sha256').update(verifier).digest('base64url') === challenge;
}

/** The most concurrent sign-ins of one browser, as in several tabs. */
const MOST_COOKIES = 5;

const COOKIE_PREFIX = '__Host-grantline-oidc-';

/** Each sign-in has its own cookie, so that a second tab does not break the first. */
export function cookieName(state: string): string {
  return COOKIE_PREFIX + state.slice(0, 8);
}

/** Names of the oldest sign-ins' cookies, which a new sign-in replaces. Browsers send older cookies first. */
export function surplusCookies(cookies: ReadonlyMap<string, string>): string[] {
  const ours = [...cookies.keys()].filter((name) => name.startsWith(COOKIE_PREFIX));
  return ours.slice(0, Math.max(0, ours.length - MOST_COOKIES + 1));
}

/** For this host only, over https or loopback only, not for scripts. `Lax`, so that it is sent when the provider redirects back. */
export function setCookie(name: string, value: string, seconds: number): string {
  return `${name}=${value}; Max-Age=${seconds}; Path=/; Secure; HttpOnly; SameSite=Lax`;
}

export function clearCookie(name: string): string {
  return setCookie(name, '', 0);
}

/** The most characters of a return address, which is part of `state`. */
const LONGEST_ADDRESS = 1000;

/**
 * The problem of a web client's return address; null: none.
 * @param allowed exact addresses (RFC 9700 section 4.1.3), and origins, which allow all their addresses
 */
export function returnProblem(address: string, allowed: readonly string[]): string | null {
  if (address.length > LONGEST_ADDRESS) return `must have at most ${LONGEST_ADDRESS} characters`;
  if (!URL.canParse(address)) return 'must be an address such as https://app.example.org/signed-in';
  const { origin, username, password, hash } = new URL(address);
  if (!allowed.includes(address) && !allowed.includes(origin))
    return 'must be an address of AUTH_OIDC_RETURN_ORIGINS, to the letter, or at one of its origins';
  if (username !== '' || password !== '') return 'must not name a user';
  return hash === '' ? null : 'must have no fragment';
}

/** The address with these parameters added. They replace parameters of the same name. */
export function addParameters(address: string, parameters: Readonly<Record<string, string>>): string {
  const url = new URL(address);
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}

/** Address of the console's page that shows why a sign-in failed, or leads to the path `to`. */
export function consoleReturnAddress(publicUrl: string, to: string): string {
  return addParameters(new URL('/sign-in', publicUrl).href, { to });
}

/** A path with its query, of printable ASCII only: URL parsers drop tabs, so `/<tab>/host` would lead to another host. */
export const PAGE_PATH = '^/([!-.0-\\[\\]-~][!-~]*)?$';

const PAGE_PATH_FORM = new RegExp(PAGE_PATH);

export function pagePathProblem(path: string): string | null {
  return path.length <= LONGEST_ADDRESS && PAGE_PATH_FORM.test(path)
    ? null
    : 'must be a path such as /people/12?tab=groups';
}
