import type { NativeValue } from './engine-value.js';

/** `unknown`: the engine did not say, for a reason that has nothing to do with whom it sees. */
export type Identity = 'confirmed' | 'mismatch' | 'unknown';

/**
 * Judges what the engine answered to the service itself.
 * @param user what `current_user` was; undefined: no answer.
 * @param catalog what `current_catalog` was, asked with `system` in a header: null means that headers are not read,
 *   which `current_user` cannot show where the user comes out of the token.
 */
export function judgeIdentity(
  expected: string,
  user: NativeValue | undefined,
  catalog: NativeValue | undefined,
  prefix: string,
): { identity: Identity; reason: string | null } {
  if (typeof user !== 'string') return { identity: 'unknown', reason: null };
  if (user !== expected) return { identity: 'mismatch', reason: 'the engine sees somebody else' };
  if (catalog === null) return { identity: 'mismatch', reason: `the engine does not read ${prefix} headers` };
  return { identity: 'confirmed', reason: null };
}
