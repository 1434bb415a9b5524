import { foldedName, nameProblem } from '../../../kernel/name.js';
import type { Claims } from './identity-provider.js';

/** What a claim says about somebody's groups. `unknown`: nothing, which is not that there are none. */
export type ClaimedGroups =
  | { kind: 'unknown' }
  | {
      kind: 'known';
      names: string[];
      /** Of two groups there, so that nobody can tell which is meant. */
      ambiguous: string[];
      /** How many have a name that no group can have. */
      unusable: number;
    };

/**
 * Reads the claim: a list of names or of paths (`/analysts`), absent where somebody is in no group. Microsoft Entra leaves it out
 * above 200 groups, too, and says so in another claim.
 */
export function claimedGroups(claims: Claims, claim: string): ClaimedGroups {
  const named = claims['_claim_names'];
  const isElsewhere = typeof named === 'object' && named !== null && Object.hasOwn(named, claim);
  if (isElsewhere || claims['hasgroups'] === true) return { kind: 'unknown' };
  const value = claims[claim] ?? [];
  const listed: unknown[] = Array.isArray(value) ? value : [value];
  if (!listed.every((name) => typeof name === 'string')) return { kind: 'unknown' };
  const paths = listed.map((name) => name.replace(/^\//, ''));
  const usable = paths.filter((name) => nameProblem(name) === null);
  const count = new Map<string, number>();
  for (const name of usable) count.set(foldedName(name), (count.get(foldedName(name)) ?? 0) + 1);
  const isOne = (name: string) => count.get(foldedName(name)) === 1;
  return {
    kind: 'known',
    names: usable.filter(isOne),
    ambiguous: [...new Set(usable.filter((name) => !isOne(name)))],
    unusable: paths.length - usable.length,
  };
}
