import { getOrInsert } from '../../kernel/get-or-insert.js';
import { addAll, bitset, type Bitset, wordAt } from '../engine/sparse-bitset.js';
import { canBeImpersonated } from '../model/acting.js';
import { taken, withContained } from '../model/privilege.js';
import { isLive, type Snapshot } from '../model/snapshot.js';
import type { PrincipalIndex } from './principal-index.js';

/** By the position of who is acted as, those who act as it by the grants. Worked out by the proof, one by one, from the raw grants. */
export function expectedActing(
  { grants, policies, at }: Snapshot,
  principals: PrincipalIndex,
  width: number,
): ReadonlyMap<number, Bitset> {
  const [given, denied] = [new Map<number, Bitset>(), new Map<number, Bitset>()];
  const actors = new Set<number>();
  for (const grant of grants) {
    const { principal, resource, privileges } = grant;
    if (resource.as === undefined || principal.type !== 'engine' || !principals.exists(resource.as)) continue;
    if (!isLive(grant, at) || !withContained(privileges).has('IMPERSONATE')) continue;
    const holders = principals.resolvePrincipal(principal);
    for (const holder of holders) actors.add(holder);
    note(given, principals.resolvePrincipal(resource.as), bitset(width, holders));
  }
  if (actors.size === 0) return given;
  for (const policy of policies)
    if (policy.kind === 'deny' && policy.resource.as !== undefined && taken(policy.privileges).has('IMPERSONATE'))
      note(denied, principals.resolvePrincipal(policy.resource.as), bitset(width, principals.resolvePolicy(policy)));
  const expected = new Map<number, Bitset>();
  for (const target of principals.resolvePrincipal({ type: 'everyone' })) {
    // A chain of two would lead to whomever the second acts as.
    if (actors.has(target) || !canBeImpersonated(principals.subjects[target]?.name ?? '')) continue;
    const gone = denied.get(target);
    const left = given.get(target)?.map((word, index) => word & ~(gone === undefined ? 0 : wordAt(gone, index)));
    if (left?.some((word) => word !== 0) === true) expected.set(target, left);
  }
  return expected;
}

function note(into: Map<number, Bitset>, targets: Iterable<number>, users: Bitset): void {
  for (const target of targets)
    addAll(
      getOrInsert(into, target, () => new Uint32Array(users.length)),
      users,
    );
}
