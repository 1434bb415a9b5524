import { NamedError } from '../../kernel/errors.js';
import { isObject } from './reading.js';

/** A service-account token in memory. Times are milliseconds of a monotonic clock. */
export interface ServiceToken {
  /** The token itself, a secret. */
  value: string;
  /** From this time on the token is renewed in the background, but still handed out. */
  renewAt: number;
  /** From this time on the token is not handed out. */
  expiresAt: number;
  /** A remark on the answer for operators; null: none. */
  oddity: string | null;
}

export type TokenAnswer = { kind: 'token'; token: ServiceToken } | { kind: 'none'; reason: string };

/** A new token is obtained 60 seconds before expiry. */
const MARGIN = 60_000;
/** With a lifetime up to this one the margin is a fifth of it, because a margin of 60 s would make every request fetch a token. */
const SHORT_LIFE = 60_000;
const UNSTATED_LIFE = 60_000;
/** Lifetime of a token with an invalid `expires_in`: it serves the waiting requests, and no other token is requested meanwhile. */
const ODD_LIFE = 1_000;
const LONGEST_LIFE = 86_400_000;
/** The b64token of RFC 6750 section 2.1, the only form of token that an Authorization header can carry. */
export const BEARER = /^[\w\-.~+/]+=*$/;

/**
 * Reads the answer of the token endpoint. The lifetime counts from the time before the request was sent, so that a slow answer never
 * makes a token look newer than it is.
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

/** `fresh`: use the token. `renew`: use it, and renew it in the background. `expired`: wait for a new one. */
export function freshness(token: ServiceToken | null, now: number): 'fresh' | 'renew' | 'expired' {
  if (token === null || now >= token.expiresAt) return 'expired';
  return now >= token.renewAt ? 'renew' : 'fresh';
}

/**
 * Why the identity provider gave no token. `refused`: a lasting problem, such as a wrong secret. `unavailable`: no answer, or one that
 * asks to try later. `invalid`: an answer without a usable token.
 */
export const TOKEN_FAILURES = ['refused', 'unavailable', 'invalid'] as const;

export type TokenFailure = (typeof TOKEN_FAILURES)[number];

export function judgeProvider(status: number): TokenFailure {
  return status >= 400 && status < 500 && status !== 408 && status !== 429 ? 'refused' : 'unavailable';
}

/** Milliseconds until the provider is asked again. Meanwhile callers get the last valid token, or a failure at once. */
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

/** Source of the Bearer token that every request to the engine carries. */
export abstract class ServiceTokenSource {
  /**
   * The present valid token; null if tokens are switched off. Concurrent callers share the acquisition of a new one.
   * @param refused a token that the engine answered with 401, which is not returned again
   * @param signal ends this caller's wait, but not an acquisition that others wait for.
   * @throws TokenUnavailable if there is no valid token and none can be obtained.
   */
  abstract validToken(refused?: string | null, signal?: AbortSignal): Promise<string | null>;
  /** The newest token, which may have expired. */
  abstract newestToken(): string | null;
  /** Keeps renewing the token in the background until the signal is aborted. Never rejects. */
  abstract keepFresh(signal: AbortSignal): Promise<void>;

  /** Whether there is a valid token, or requests need none. */
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
  onRenewal(expiresAt: number): void;
  onFailure(reason: TokenFailure): void;
}

export const NO_OBSERVER: TokenObserver = { onRenewal: () => undefined, onFailure: () => undefined };

/** There is no valid token and none can be obtained. The message is for logs, and contains no secret. */
export class TokenUnavailable extends NamedError {}

/** SERVICE_QUERY_JWT_ENABLED=false: requests carry no Bearer header. */
export const NO_SERVICE_TOKENS: ServiceTokenSource = {
  validToken: () => Promise.resolve(null),
  newestToken: () => null,
  isValid: () => true,
  keepFresh: () => Promise.resolve(),
  close: () => undefined,
};
