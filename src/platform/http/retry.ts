export interface RetryState {
  /** Failures so far, this one included. */
  failures: number;
  /** Milliseconds that the server, or a proxy in front of it, asks to wait; null: it does not say. */
  retryAfter: number | null;
  /** Milliseconds since the first failure. */
  failingFor: number;
  /** Milliseconds for all attempts together. */
  budget: number;
  /** Milliseconds until the caller's own deadline. */
  remaining: number;
  /** From 0 to below 1: spreads the retries of many replicas. */
  jitter: number;
}

const RETRIED: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const LONGEST_PAUSE = 2_000;

/** Milliseconds before the next attempt: as the server asks, else from `first` on twice as long each time, up to two seconds. */
export function retryPause(failures: number, retryAfter: number | null, first: number): number {
  return retryAfter ?? Math.min(first * 2 ** (failures - 1), LONGEST_PAUSE);
}

/**
 * Whether and when to send a request again. Trino's clients agree on 502, 503 and 504 after 50 to 100 ms, and 429 as its
 * `Retry-After` says. A wait that would outlast the budget or the deadline is not begun.
 *
 * @param status null: the connection was lost.
 * @returns milliseconds to wait, or null: give up.
 */
export function pauseBeforeRetry(status: number | null, state: RetryState): number | null {
  if (status !== null && !RETRIED.has(status)) return null;
  const pause = retryPause(state.failures, state.retryAfter, 50 * (1 + state.jitter));
  const isWithinLimits = state.failingFor + pause <= state.budget && pause < state.remaining;
  return isWithinLimits ? pause : null;
}

/**
 * `Retry-After` in milliseconds: seconds or an HTTP date (RFC 9110 section 10.2.3); null when there is none, or it is neither.
 * @param now without it dates are not read
 */
export function readRetryAfter(value: string | undefined, now?: Date): number | null {
  if (value === undefined) return null;
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) || now === undefined ? null : Math.max(0, date - now.getTime());
}
