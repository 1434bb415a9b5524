import { NamedError } from '../../kernel/errors.js';
import { isObject } from '../../kernel/json-reader.js';

/** A service-account token in memory. Times are milliseconds of a monotonic clock. */
export interface ServiceToken {
  /** The token itself, a secret. */
  value: string;
  /** From this time on the token is renewed in the background, but still handed out. */
  renewAt: number;
  /** From this time on the token is not handed out. */
  expiresAt: number;
  /** A remark on the provider's answer for operators, or null. */
  remark: string | null;
}

export type TokenAnswer = { kind: 'token'; token: ServiceToken } | { kind: 'none'; reason: string };

/** A new token is obtained 60 seconds before expiry. */
const RENEWAL_MARGIN = 60_000;
/** A token with at most this lifetime is renewed after four fifths of the lifetime. RENEWAL_MARGIN would make every request renew the token. */
const SHORT_LIFETIME = 60_000;
const DEFAULT_LIFETIME = 60_000;
/** Lifetime of a token with an invalid `expires_in`: long enough for the requests that wait for it. */
const LIFETIME_IF_INVALID = 1_000;
const MAX_LIFETIME = 86_400_000;
/** The b64token of RFC 6750 section 2.1, the only form of token that an Authorization header can carry. */
export const BEARER_TOKEN = /^[\w\-.~+/]+=*$/;

/**
 * Reads the answer of the token endpoint. The lifetime counts from the time before the request was sent, so that a slow answer never
 * makes a token look newer than it is.
 */
export function readTokenAnswer(answer: unknown, requestedAt: number, receivedAt: number): TokenAnswer {
  if (!isObject(answer)) return { kind: 'none', reason: 'the answer is not a JSON object' };
  const value = answer['access_token'];
  if (typeof value !== 'string' || value === '') return { kind: 'none', reason: 'the answer holds no access_token' };
  if (!BEARER_TOKEN.test(value))
    return { kind: 'none', reason: 'the access_token has characters that no Bearer token has' };
  const tokenType = answer['token_type'];
  if (typeof tokenType === 'string' && tokenType.toLowerCase() !== 'bearer') {
    return { kind: 'none', reason: 'the token is not of type Bearer' };
  }
  return { kind: 'token', token: tokenWithLifetime(value, answer['expires_in'], requestedAt, receivedAt) };
}

function tokenWithLifetime(value: string, expiresIn: unknown, requestedAt: number, receivedAt: number): ServiceToken {
  if (expiresIn === undefined || expiresIn === null) {
    const remark = 'expires_in is missing; 60 seconds are assumed';
    return { value, ...tokenTimes(requestedAt, DEFAULT_LIFETIME), remark };
  }
  if (typeof expiresIn !== 'number' || !(expiresIn > 0)) {
    const renewAt = receivedAt + LIFETIME_IF_INVALID;
    const remark = 'expires_in is not a positive number; renewing at every use';
    return { value, renewAt, expiresAt: renewAt, remark };
  }
  return { value, ...tokenTimes(requestedAt, Math.min(expiresIn * 1000, MAX_LIFETIME)), remark: null };
}

function tokenTimes(startTime: number, lifetime: number): { renewAt: number; expiresAt: number } {
  const renewalMargin = lifetime <= SHORT_LIFETIME ? lifetime / 5 : RENEWAL_MARGIN;
  return { renewAt: startTime + lifetime - renewalMargin, expiresAt: startTime + lifetime };
}

/** `fresh`: use the token. `renew`: use it, and renew it in the background. `expired`: wait for a new one. */
export function freshnessOf(token: ServiceToken | null, now: number): 'fresh' | 'renew' | 'expired' {
  if (token === null || now >= token.expiresAt) return 'expired';
  return now >= token.renewAt ? 'renew' : 'fresh';
}

/**
 * Why the identity provider gave no token. `refused`: a lasting problem, such as a wrong secret. `unavailable`: no answer, or one that
 * asks to try later. `invalid`: an answer without a usable token.
 */
export const TOKEN_FAILURES = ['refused', 'unavailable', 'invalid'] as const;

export type TokenFailure = (typeof TOKEN_FAILURES)[number];

/** The kind of failure that an HTTP status of the provider means. */
export function failureOfStatus(status: number): TokenFailure {
  return status >= 400 && status < 500 && status !== 408 && status !== 429 ? 'refused' : 'unavailable';
}

/** Milliseconds until the provider is asked again after a failure. Meanwhile callers get the last valid token, or an error at once. */
export function pauseAfterFailure(
  kind: TokenFailure,
  failureCount: number,
  retryAfter: number | null,
  jitter: number,
): number {
  const firstPause = kind === 'refused' ? 5_000 : 500;
  const maxPause = kind === 'refused' ? 60_000 : 15_000;
  const backoff = Math.min(firstPause * 2 ** Math.min(failureCount - 1, 16), maxPause) * (0.75 + jitter / 2);
  return Math.max(backoff, Math.min(retryAfter ?? 0, 60_000));
}

/** Source of the Bearer token that every request to the engine carries. */
export abstract class ServiceTokenSource {
  /**
   * The present valid token; null if tokens are switched off. Concurrent callers share one request for a new token.
   * @param refusedToken a token that the engine answered with 401, which is not returned again
   * @param signal ends this caller's wait, but not a request that other callers wait for.
   * @throws TokenUnavailable if there is no valid token and none can be obtained.
   */
  abstract validToken(refusedToken?: string | null, signal?: AbortSignal): Promise<string | null>;
  /** The newest token, which may have expired. */
  abstract newestToken(): string | null;
  /** Keeps renewing the token in the background until the signal is aborted. Never rejects. */
  abstract keepFresh(signal: AbortSignal): Promise<void>;

  /** Whether there is a valid token. Always true for a source that gives no token. */
  isValid(): boolean {
    return true;
  }

  /** Closes idle connections. */
  close(): void {
    // A source without connections has nothing to close.
  }
}

export interface TokenObserver {
  /** @param expiresAt milliseconds since 1970 */
  onRenewal(expiresAt: number): void;
  onFailure(reason: TokenFailure): void;
}

export const NO_OBSERVER: TokenObserver = { onRenewal: () => undefined, onFailure: () => undefined };

/** There is no valid token and none can be obtained. The message is for logs, and contains no secret. */
export class TokenUnavailable extends NamedError {}

/** The source for SERVICE_QUERY_JWT_ENABLED=false: requests carry no Bearer token. */
export const NO_SERVICE_TOKENS: ServiceTokenSource = {
  validToken: () => Promise.resolve(null),
  newestToken: () => null,
  isValid: () => true,
  keepFresh: () => Promise.resolve(),
  close: () => undefined,
};
