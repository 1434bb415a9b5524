import { compareNames, namedBy } from './node.js';
import type { PolicyPrincipal } from './principal.js';
import { Principals } from './principals.js';
import { orderedPrivileges } from './privilege.js';
import { closedProblem } from './resource.js';
import { isLive, type Snapshot, type SnapshotGrant, type SnapshotPolicy } from './snapshot.js';

/**
 * The snapshot without rows that have no effect: ended grants, rows on closed nodes, rows without an existing principal or with a
 * service account. Rows are ordered by id and privileges in the engine's order, so that equal snapshots are written
 * equally. It can always be parsed back (`snapshot-file.ts`), even after the settings have changed.
 */
export function effective(snapshot: Snapshot): Snapshot {
  const { settings, at } = snapshot;
  const principals = new Principals(snapshot);
  const exists = (named: PolicyPrincipal): boolean => principals.exists(named);
  const hasEffect = ({ principal, resource }: SnapshotGrant | SnapshotPolicy): boolean =>
    closedProblem(resource, settings.metadataCatalog) === null &&
    [principal, namedBy(resource) ?? []].flat().every(exists);
  return {
    users: byId(snapshot.users),
    groups: byId(snapshot.groups).map(({ id, name, members, engines }) => ({
      id,
      name,
      members: members.filter((member) => principals.user(member) !== undefined).sort((a, b) => a - b),
      engines: engines.filter((engine) => exists({ type: 'engine', name: engine })).sort(compareNames),
    })),
    grants: byId(snapshot.grants)
      .filter((grant) => isLive(grant, at) && hasEffect(grant))
      .map((grant) => ({ ...grant, privileges: orderedPrivileges(grant.privileges) })),
    policies: byId(snapshot.policies)
      .filter(hasEffect)
      .map((policy) => ({
        ...policy,
        ...(policy.kind === 'deny' && { privileges: orderedPrivileges(policy.privileges) }),
        except: policy.except.filter(exists),
      })),
    settings,
    at,
  };
}

function byId<T extends { id: number }>(rows: readonly T[]): T[] {
  return [...rows].sort((a, b) => a.id - b.id);
}
