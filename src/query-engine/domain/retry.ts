/** A failed attempt. `retryAfter` in milliseconds, from the engine or a proxy in front of it. */
export type FailedAttempt = { kind: 'status'; status: number; retryAfter: number | null } | { kind: 'connection' };

export interface RetryState {
  /** Failures so far, this one included. */
  failures: number;
  /** Milliseconds since the first of them. */
  failingFor: number;
  /** Milliseconds for all attempts together. */
  budget: number;
  /** Milliseconds until the statement's own deadline. */
  remaining: number;
  /** From 0 to below 1: spreads the retries of many replicas. */
  jitter: number;
}

/** 5 s on the POST (which registers a statement and runs nothing), 30 s on a GET, which may be repeated freely. */
export const RETRY_BUDGET = { POST: 5_000, GET: 30_000, HEAD: 5_000, DELETE: 5_000 } as const;

const RETRIED: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const FIRST_PAUSE = 50;
const LONGEST_PAUSE = 2_000;

/**
 * Whether and when to ask again. Trino's clients agree on 502, 503 and 504 after 50 to 100 ms, and 429 as its
 * `Retry-After` says. A wait that would outlast the budget or the deadline is not begun.
 *
 * @returns milliseconds to wait, or null: give up.
 */
export function pauseBeforeRetry(failure: FailedAttempt, state: RetryState): number | null {
  if (failure.kind === 'status' && !RETRIED.has(failure.status)) return null;
  const backoff = Math.min(FIRST_PAUSE * 2 ** (state.failures - 1) * (1 + state.jitter), LONGEST_PAUSE);
  const pause = failure.kind === 'status' && failure.retryAfter !== null ? failure.retryAfter : backoff;
  const isWithinLimits = state.failingFor + pause <= state.budget && pause < state.remaining;
  return isWithinLimits ? pause : null;
}

/** `Retry-After` in milliseconds: seconds or an HTTP date (RFC 9110 section 10.2.3); null when there is none, or it is neither. */
export function readRetryAfter(value: string | undefined, now: Date): number | null {
  if (value === undefined) return null;
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? null : Math.max(0, date - now.getTime());
}
