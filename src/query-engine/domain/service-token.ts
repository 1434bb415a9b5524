import { NamedError } from '../../kernel/errors.js';
import { isObject } from './reading.js';

/** A service-account token in memory. Moments are milliseconds of a monotonic clock, never of the wall. */
export interface ServiceToken {
  /** Secret. */
  value: string;
  /** Time from which it is renewed in the background, while it is still handed out. */
  renewAt: number;
  /** Time from which it is not handed out. */
  expiresAt: number;
  /** A remark on the answer for operators; null: none. */
  oddity: string | null;
}

export type TokenAnswer = { kind: 'token'; token: ServiceToken } | { kind: 'none'; reason: string };

/** A new one is obtained 60 seconds before expiry. */
const MARGIN = 60_000;
/** A life of 60 s or less would be all margin, and every request would fetch: there it is a fifth of the life. */
const SHORT_LIFE = 60_000;
const UNSTATED_LIFE = 60_000;
/** For an invalid `expires_in`: the token is used for the requests that wait, and not renewed within this time. */
const ODD_LIFE = 1_000;
const LONGEST_LIFE = 86_400_000;
/** RFC 6750 section 2.1, b64token: an Authorization header can hold nothing else. */
export const BEARER = /^[\w\-.~+/]+=*$/;

/**
 * Reads the answer of the token endpoint. The life counts from before the request was sent, so
 * that a slow answer never makes a token look younger than it is.
 */
export function readTokenAnswer(answer: unknown, askedAt: number, receivedAt: number): TokenAnswer {
  if (!isObject(answer)) return { kind: 'none', reason: 'the answer is not a JSON object' };
  const value = answer['access_token'];
  if (typeof value !== 'string' || value === '') return { kind: 'none', reason: 'the answer holds no access_token' };
  if (!BEARER.test(value)) return { kind: 'none', reason: 'the access_token has characters that no Bearer token has' };
  const type = answer['token_type'];
  if (typeof type === 'string' && type.toLowerCase() !== 'bearer') {
    return { kind: 'none', reason: 'the token is not of type Bearer' };
  }
  return { kind: 'token', token: aged(value, answer['expires_in'], askedAt, receivedAt) };
}

function aged(value: string, expiresIn: unknown, askedAt: number, receivedAt: number): ServiceToken {
  if (expiresIn === undefined || expiresIn === null) {
    return { value, ...life(askedAt, UNSTATED_LIFE), oddity: 'expires_in is missing; 60 seconds are assumed' };
  }
  if (typeof expiresIn !== 'number' || !(expiresIn > 0)) {
    const renewAt = receivedAt + ODD_LIFE;
    return { value, renewAt, expiresAt: renewAt, oddity: 'expires_in is not a positive number; renewing at every use' };
  }
  return { value, ...life(askedAt, Math.min(expiresIn * 1000, LONGEST_LIFE)), oddity: null };
}

function life(from: number, milliseconds: number): { renewAt: number; expiresAt: number } {
  const margin = milliseconds <= SHORT_LIFE ? milliseconds / 5 : MARGIN;
  return { renewAt: from + milliseconds - margin, expiresAt: from + milliseconds };
}

/** `fresh`: use it. `renew`: use it, and renew in the background. `expired`: wait for a new one. */
export function freshness(token: ServiceToken | null, now: number): 'fresh' | 'renew' | 'expired' {
  if (token === null || now >= token.expiresAt) return 'expired';
  return now >= token.renewAt ? 'renew' : 'fresh';
}

/**
 * Why the identity provider gave no token. `refused` does not heal by itself (a wrong secret); `unavailable`: no answer, or one that
 * asks to come back; `invalid`: an answer without a usable token.
 */
export const TOKEN_FAILURES = ['refused', 'unavailable', 'invalid'] as const;

export type TokenFailure = (typeof TOKEN_FAILURES)[number];

export function judgeProvider(status: number): TokenFailure {
  return status >= 400 && status < 500 && status !== 408 && status !== 429 ? 'refused' : 'unavailable';
}

/** Milliseconds until the provider is asked again; meanwhile callers get the last valid token or a failure at once. */
export function pauseAfterFailure(
  kind: TokenFailure,
  failures: number,
  retryAfter: number | null,
  jitter: number,
): number {
  const first = kind === 'refused' ? 5_000 : 500;
  const longest = kind === 'refused' ? 60_000 : 15_000;
  const backoff = Math.min(first * 2 ** Math.min(failures - 1, 16), longest) * (0.75 + jitter / 2);
  return Math.max(backoff, Math.min(retryAfter ?? 0, 60_000));
}

/** The Bearer token that every request to the engine carries. */
export abstract class ServiceTokenSource {
  /**
   * The token that is valid now; null when tokens are switched off. Concurrent callers get the same new one.
   * @param refused after a 401: another token than this
   * @param signal ends this caller's waiting only, never an acquisition that others wait for.
   * @throws TokenUnavailable when there is none and none can be had.
   */
  abstract current(refused?: string | null, signal?: AbortSignal): Promise<string | null>;
  /** The newest token there was, though it may have expired. */
  abstract last(): string | null;
  /** Renews the token in the background until the signal is aborted. Never rejects. */
  abstract keepFresh(signal: AbortSignal): Promise<void>;

  /** Whether requests can carry a token that is valid now, or need none. */
  isValid(): boolean {
    return true;
  }

  /** Closes idle connections. */
  close(): void {
    // Nothing was opened.
  }
}

/** Observer of renewals and failures. */
export interface TokenObserver {
  /** @param expiresAt milliseconds since 1970 */
  renewed(expiresAt: number): void;
  failed(reason: TokenFailure): void;
}

export const UNOBSERVED: TokenObserver = { renewed: () => undefined, failed: () => undefined };

/** There is no valid token and none can be obtained. The message is private, and holds no secret. */
export class TokenUnavailable extends NamedError {}

/** SERVICE_QUERY_JWT_ENABLED=false: requests carry no Bearer header. */
export const NO_SERVICE_TOKENS: ServiceTokenSource = {
  current: () => Promise.resolve(null),
  last: () => null,
  isValid: () => true,
  keepFresh: () => Promise.resolve(),
  close: () => undefined,
};
