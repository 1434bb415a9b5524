import { getOrInsert } from '../../kernel/collections.js';
import { bitset, type Bitset } from '../engine/sparse-bitset.js';
import type { Privilege } from '../model/privilege.js';
import { isLive, type Snapshot } from '../model/snapshot.js';
import { type EntrySource, InternedAccess } from './interned-access.js';
import type { PrincipalIndex } from './principal-index.js';

/** Users with each privilege on the engine itself by the grants; a privilege that nobody has is left out. */
export function expectedOnEngine(
  { grants, policies, at }: Snapshot,
  principals: PrincipalIndex,
  width: number,
): ReadonlyMap<Privilege, Bitset> {
  const nothing = new InternedAccess();
  const byPosition = new Map<number, InternedAccess>();
  const add = (source: EntrySource, members: readonly number[]): void => {
    for (const position of members) byPosition.set(position, (byPosition.get(position) ?? nothing).and(source));
  };
  for (const grant of grants)
    if (grant.resource.engine === true && isLive(grant, at))
      add({ gives: grant.privileges }, principals.resolvePrincipal(grant.principal));
  for (const policy of policies) if (policy.resource.engine === true) add({ policy }, principals.resolvePolicy(policy));
  const holders = new Map<Privilege, number[]>();
  for (const [position, { access }] of byPosition)
    for (const privilege of access.privileges) getOrInsert(holders, privilege, () => []).push(position);
  return new Map([...holders].map(([privilege, positions]) => [privilege, bitset(width, positions)]));
}
