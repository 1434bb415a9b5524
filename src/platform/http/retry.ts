const LONGEST_PAUSE = 2_000;

/**
 * Milliseconds before the next attempt: the server's `Retry-After`, or else `first`, doubled for each failure, up to two seconds.
 * @param failures the number of failures so far, including the present one
 */
export function retryPause(failures: number, retryAfter: number | null, first: number): number {
  return retryAfter ?? Math.min(first * 2 ** (failures - 1), LONGEST_PAUSE);
}

/**
 * `Retry-After` in milliseconds, from seconds or an HTTP date (RFC 9110 section 10.2.3); null if it is absent or invalid.
 * @param now the present time; if absent, dates are not read
 */
export function readRetryAfter(value: string | undefined, now?: Date): number | null {
  if (value === undefined) return null;
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) || now === undefined ? null : Math.max(0, date - now.getTime());
}
