/** What came instead of a usable answer. `retryAfter` in milliseconds, as the engine or a proxy before it asked. */
export type Setback = { kind: 'status'; status: number; retryAfter: number | null } | { kind: 'connection' };

export interface RetryState {
  /** Failures so far, this one included. */
  failures: number;
  /** Milliseconds since the first of them. */
  failingFor: number;
  /** How long they may go on, in milliseconds. */
  patience: number;
  /** Milliseconds until the statement's own deadline. */
  remaining: number;
  /** From 0 to below 1. */
  chance: number;
}

/** api.md: 5 s on the POST (which registers a statement and runs nothing), 30 s on a GET, which may be repeated freely. */
export const PATIENCE = { POST: 5_000, GET: 30_000, HEAD: 5_000, DELETE: 5_000 } as const;

const RETRIED: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const FIRST_PAUSE = 50;
const LONGEST_PAUSE = 2_000;

/**
 * Whether and when to ask again. Trino's clients agree on 502, 503 and 504 after 50 to 100 ms, and 429 as its
 * `Retry-After` says. A wait that would outlast patience or deadline is not begun.
 *
 * @returns milliseconds to wait, or null: give up.
 */
export function pauseBeforeRetry(setback: Setback, state: RetryState): number | null {
  if (setback.kind === 'status' && !RETRIED.has(setback.status)) return null;
  const backoff = Math.min(FIRST_PAUSE * 2 ** (state.failures - 1) * (1 + state.chance), LONGEST_PAUSE);
  const pause = setback.kind === 'status' && setback.retryAfter !== null ? setback.retryAfter : backoff;
  const fits = state.failingFor + pause <= state.patience && pause < state.remaining;
  return fits ? pause : null;
}

/** `Retry-After` in milliseconds: seconds or an HTTP date (RFC 9110 section 10.2.3); null when there is none, or it is neither. */
export function readRetryAfter(value: string | undefined, now: Date): number | null {
  if (value === undefined) return null;
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? null : Math.max(0, date - now.getTime());
}
