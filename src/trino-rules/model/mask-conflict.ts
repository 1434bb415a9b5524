import { matchesPolicy } from './principal-matching.js';
import type { Principal } from './principal.js';
import type { Snapshot, SnapshotPolicy } from './snapshot.js';

export interface MaskConflict {
  /** The other policy, which masks the same column of the same node. */
  with: number;
  /** A principal that both apply to. */
  principal: string;
}

/**
 * A mask at the same distance as the column mask `id` that applies to a common principal, so that neither takes precedence (access
 * model, section 1). Two masks are equally near to a column of a table exactly when they are on the same node.
 */
export function maskConflict(snapshot: Snapshot, id: number): MaskConflict | null {
  const masks = snapshot.policies.filter((policy) => policy.kind === 'column_mask');
  const mine = masks.find((mask) => mask.id === id);
  if (mine === undefined) return null;
  const others = masks.filter(
    (other) => other.id !== id && other.expression !== mine.expression && sameColumn(other, mine),
  );
  if (others.length === 0) return null;
  const members = maskedPrincipals(snapshot).filter(({ principal }) => matchesPolicy(snapshot, mine, principal));
  for (const other of others) {
    const who = members.find(({ principal }) => matchesPolicy(snapshot, other, principal));
    if (who !== undefined) return { with: other.id, principal: who.name };
  }
  return null;
}

/** Principals that a policy can apply to: active people, and named engine principals; never service accounts. */
function maskedPrincipals({ users, grants, policies, settings }: Snapshot): { name: string; principal: Principal }[] {
  const people = users
    .filter(({ isActive }) => isActive)
    .map(({ id, name }) => ({ name, principal: { type: 'user', id } as const }));
  const named = [...grants, ...policies].map(({ principal }) => principal);
  const engines = named.flatMap((principal) => (principal.type === 'engine' ? [principal.name] : []));
  const others = [...new Set(engines)].filter((name) => !settings.serviceAccounts.includes(name));
  return [...people, ...others.map((name) => ({ name, principal: { type: 'engine', name } as const }))];
}

type Mask = Extract<SnapshotPolicy, { kind: 'column_mask' }>;

function sameColumn({ resource: a }: Mask, { resource: b }: Mask): boolean {
  return a.catalog === b.catalog && a.schema === b.schema && a.table === b.table && a.column === b.column;
}
