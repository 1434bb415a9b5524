import type { Principal } from './principal.js';
import type { Principals, Through } from './principals.js';
import { isLive, type Snapshot, type SnapshotGrant } from './snapshot.js';

/** The grants of the right to kill anybody's queries which denies leave: `CALL system.runtime.kill_query` comes with them. */
export function killing(
  { grants, policies, at }: Snapshot,
  principal: Principal,
  principals: Principals,
): { source: SnapshotGrant; through: Through }[] {
  const given = grants.flatMap((source) => {
    const isGiving = source.privileges.includes('KILL_QUERIES') && isLive(source, at);
    const through = isGiving && principals.through(source.principal, principal);
    return through ? [{ source, through }] : [];
  });
  if (given.length === 0) return [];
  const denied = policies.flatMap((policy) => {
    const isTaking = policy.kind === 'deny' && policy.privileges.includes('KILL_QUERIES');
    return isTaking && principals.throughPolicy(policy, principal) !== null ? [policy.resource] : [];
  });
  // On the engine, it takes the queries of all.
  if (denied.some(({ queries }) => queries === undefined)) return [];
  const spared = denied.flatMap(({ queries }) => (queries === undefined ? [] : [principals.owners(queries)]));
  return given.filter(({ source: { resource } }) => {
    if (resource.queries === undefined) return true;
    const owners = [...principals.owners(resource.queries).keys()];
    return owners.some((owner) => !spared.some((others) => others.has(owner)));
  });
}
