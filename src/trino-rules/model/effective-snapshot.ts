import { compareNames, principalIn } from './node.js';
import type { PolicyPrincipal } from './principal.js';
import { Principals } from './principals.js';
import { orderedPrivileges } from './privilege.js';
import { closedProblem } from './resource.js';
import { isLive, type Snapshot, type SnapshotGrant, type SnapshotPolicy } from './snapshot.js';

/**
 * The snapshot without rows that have no effect, such as ended grants. Sorted, so that equal snapshots have equal texts. `readSnapshot` accepts
 * the written result, even after the settings have changed.
 */
export function effectiveSnapshot(snapshot: Snapshot): Snapshot {
  const { settings, at } = snapshot;
  const principals = new Principals(snapshot);
  const principalExists = (principal: PolicyPrincipal): boolean => principals.exists(principal);
  const hasEffect = ({ principal, resource }: SnapshotGrant | SnapshotPolicy): boolean =>
    closedProblem(resource, settings.metadataCatalog) === null &&
    [principal, principalIn(resource) ?? []].flat().every(principalExists);
  return {
    users: sortedById(snapshot.users),
    groups: sortedById(snapshot.groups).map(({ id, name, members, engines }) => ({
      id,
      name,
      members: members.filter((member) => principals.user(member) !== undefined).sort((a, b) => a - b),
      engines: engines.filter((engine) => principalExists({ type: 'engine', name: engine })).sort(compareNames),
    })),
    grants: sortedById(snapshot.grants)
      .filter((grant) => isLive(grant, at) && hasEffect(grant))
      .map((grant) => ({ ...grant, privileges: orderedPrivileges(grant.privileges) })),
    policies: sortedById(snapshot.policies)
      .filter(hasEffect)
      .map((policy) => ({
        ...policy,
        ...(policy.kind === 'deny' && { privileges: orderedPrivileges(policy.privileges) }),
        except: policy.except.filter(principalExists),
      })),
    settings,
    at,
  };
}

function sortedById<T extends { id: number }>(rows: readonly T[]): T[] {
  return [...rows].sort((a, b) => a.id - b.id);
}
