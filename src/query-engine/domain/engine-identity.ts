import type { NativeValue } from './engine-value.js';

/** `unknown`: the engine gave no answer, for reasons that have nothing to do with identity. */
export type Identity = 'confirmed' | 'mismatch' | 'unknown';

/**
 * Whether the engine applies the user headers, judged by its answers to the service itself.
 * @param user the value of `current_user`; undefined: no answer.
 * @param catalog the value of `current_catalog`, with `system` in a header: null means that headers are not read,
 *   which `current_user` cannot show where the user comes out of the token.
 */
export function judgeIdentity(
  expected: string,
  user: NativeValue | undefined,
  catalog: NativeValue | undefined,
  prefix: string,
): { identity: Identity; reason: string | null } {
  if (typeof user !== 'string') return { identity: 'unknown', reason: null };
  if (user !== expected) return { identity: 'mismatch', reason: 'the engine runs statements as another user' };
  if (catalog === null) return { identity: 'mismatch', reason: `the engine does not read ${prefix} headers` };
  return { identity: 'confirmed', reason: null };
}
