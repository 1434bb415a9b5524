import type { EngineError } from './engine-error.js';

/**
 * `these`: the rules that were asked about. `others`: another version. `broken`: a file that the engine cannot use, and
 * every statement fails. `unclear`: it answered something else. `unreachable`: it did not answer.
 */
export type RulesInForce = 'these' | 'others' | 'broken' | 'unclear' | 'unreachable';

/**
 * Reads the answer to `SET SESSION grantline_rules_<hash> = true` (seen on Trino 483): access control comes first, so the
 * engine reports an unknown property only if these rules allow it.
 */
export function judgeRulesProbe(error: EngineError | null): RulesInForce {
  if (error === null) return 'unclear';
  if (error.name === 'INVALID_SESSION_PROPERTY') return 'these';
  if (error.name === 'PERMISSION_DENIED') return 'others';
  return error.kind === 'INTERNAL_ERROR' ? 'broken' : 'unclear';
}
