import { bitset, type Bitset } from '../engine/sparse-bitset.js';
import { canBeImpersonated } from '../model/acting.js';
import { taken, withContained } from '../model/privilege.js';
import { isLive, type Snapshot } from '../model/snapshot.js';
import type { PrincipalIndex } from './principal-index.js';

/** By the position of who is acted as, those who act as it by the grants. Worked out by the proof, pair by pair, from the raw grants. */
export function expectedActing(
  { grants, policies, at }: Snapshot,
  principals: PrincipalIndex,
  width: number,
): ReadonlyMap<number, Bitset> {
  const given: { actors: readonly number[]; targets: ReadonlySet<number> }[] = [];
  for (const grant of grants) {
    const { principal, resource, privileges } = grant;
    if (resource.as === undefined || principal.type !== 'engine' || !principals.exists(resource.as)) continue;
    if (!isLive(grant, at) || !withContained(privileges).has('IMPERSONATE')) continue;
    given.push({
      actors: principals.resolvePrincipal(principal),
      targets: new Set(principals.resolvePrincipal(resource.as)),
    });
  }
  if (given.length === 0) return new Map();
  const actors = new Set(given.flatMap((grant) => grant.actors));
  const everyone = principals.resolvePrincipal({ type: 'everyone' });
  const denied = policies.flatMap((policy) =>
    policy.kind === 'deny' && policy.resource.as !== undefined && taken(policy.privileges).has('IMPERSONATE')
      ? [
          {
            actors: new Set(principals.resolvePolicy(policy)),
            targets: new Set(principals.resolvePrincipal(policy.resource.as)),
          },
        ]
      : [],
  );
  const expected = new Map<number, Bitset>();
  for (const target of everyone) {
    // A chain of two would lead to whomever the second acts as.
    if (actors.has(target) || !canBeImpersonated(principals.subjects[target]?.name ?? '')) continue;
    const acting = given.flatMap((grant) => (grant.targets.has(target) ? grant.actors : []));
    const left = acting.filter((actor) => !denied.some((deny) => deny.actors.has(actor) && deny.targets.has(target)));
    if (left.length > 0) expected.set(target, bitset(width, left));
  }
  return expected;
}
