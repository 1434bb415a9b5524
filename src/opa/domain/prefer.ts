import { parseDecimal } from '../../kernel/decimal.js';

/** The longest time for which a request is held, in seconds. */
const MAX_WAIT_SECONDS = 60;

/**
 * The seconds that a request may be held, by its `Prefer` header. OPA sends `modes=snapshot,delta;wait=30`. Names are compared without case,
 * and the first `wait` counts (RFC 7240 section 2). 0: the request is answered at once.
 */
export function waitSeconds(prefer: string | undefined): number {
  for (const preference of (prefer ?? '').split(/[,;]/)) {
    const [, seconds] = /^\s*wait\s*=\s*"?(\d*)"?\s*$/i.exec(preference) ?? [];
    if (seconds !== undefined) return Math.min(parseDecimal(seconds) || 0, MAX_WAIT_SECONDS);
  }
  return 0;
}
