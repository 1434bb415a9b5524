import {
  canBeImpersonated,
  intentAt,
  OPEN_SYSTEM_SCHEMAS,
  reachesSomething,
} from '../../src/trino-rules/model/intent.js';
import type { Principal } from '../../src/trino-rules/model/principal.js';
import type { Snapshot, SnapshotUser } from '../../src/trino-rules/model/snapshot.js';

/** The widest thing that anybody may do anywhere in the catalog decides: reading needs `read-only`, all else `all`. */
export function catalogMode(snapshot: Snapshot, principal: Principal, catalog: string): 'all' | 'read-only' | 'none' {
  const named = snapshot.grants.map(({ resource }) => resource).filter((resource) => resource.catalog === catalog);
  const system = OPEN_SYSTEM_SCHEMAS.map((schema) => ({ catalog, schema }));
  const held = [{ catalog }, ...named, ...system].flatMap((node) => intentAt(snapshot, principal, node).privileges);
  if (held.length === 0) return 'none';
  return held.every((privilege) => privilege === 'SELECT') ? 'read-only' : 'all';
}

/** Only Grantline's own account becomes somebody else: the active people who can reach something. */
export function mayImpersonate(snapshot: Snapshot, account: string, person: SnapshotUser): boolean {
  const { impersonation, ownAccount } = snapshot.settings;
  const asked = impersonation && account === ownAccount && canBeImpersonated(person.name);
  return asked && reachesSomething(snapshot, { type: 'user', id: person.id });
}
