const LONGEST_PAUSE = 2_000;

/**
 * Milliseconds before the next attempt: as the server asks, else from `first` on twice as long each time, up to two seconds.
 * @param failures so far, this one included
 */
export function retryPause(failures: number, retryAfter: number | null, first: number): number {
  return retryAfter ?? Math.min(first * 2 ** (failures - 1), LONGEST_PAUSE);
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
