import { compareNames, namedBy } from './node.js';
import type { PolicyPrincipal } from './principal.js';
import { Principals } from './principals.js';
import { orderedPrivileges } from './privilege.js';
import { closedProblem } from './resource.js';
import { isLive, type Snapshot } from './snapshot.js';

/**
 * The snapshot without rows that have no effect: ended grants, rows on closed nodes, rows without an existing principal or with a
 * service account. Rows are ordered by id and privileges in the engine's order, so that equal snapshots are written
 * equally. It can always be parsed back (`snapshot-file.ts`), even after the settings have changed.
 */
export function effective(snapshot: Snapshot): Snapshot {
  const { settings, at } = snapshot;
  const principals = new Principals(snapshot);
  const isNamed = (named: PolicyPrincipal): boolean => principals.exists(named);
  const isOpen = ({ resource }: Snapshot['grants'][number] | Snapshot['policies'][number]): boolean =>
    closedProblem(resource, settings.metadataCatalog) === null;
  const isTarget = ({ resource }: Snapshot['grants'][number] | Snapshot['policies'][number]): boolean => {
    const named = namedBy(resource);
    return named === undefined || isNamed(named);
  };
  return {
    users: byId(snapshot.users),
    groups: byId(snapshot.groups).map(({ id, name, members, engines }) => ({
      id,
      name,
      members: members.filter((member) => principals.user(member) !== undefined).sort((a, b) => a - b),
      engines: engines.filter((engine) => isNamed({ type: 'engine', name: engine })).sort(compareNames),
    })),
    grants: byId(snapshot.grants)
      .filter((grant) => isLive(grant, at) && isOpen(grant) && isNamed(grant.principal) && isTarget(grant))
      .map((grant) => ({ ...grant, privileges: orderedPrivileges(grant.privileges) })),
    policies: byId(snapshot.policies)
      .filter((policy) => isOpen(policy) && isNamed(policy.principal) && isTarget(policy))
      .map((policy) => ({
        ...policy,
        ...(policy.kind === 'deny' && { privileges: orderedPrivileges(policy.privileges) }),
        except: policy.except.filter(isNamed),
      })),
    settings,
    at,
  };
}

function byId<T extends { id: number }>(rows: readonly T[]): T[] {
  return [...rows].sort((a, b) => a.id - b.id);
}
