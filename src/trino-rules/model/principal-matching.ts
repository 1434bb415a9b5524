import type { PolicySubject, Principal } from './principal.js';
import type { Resource } from './resource.js';
import type { Snapshot, SnapshotGrant, SnapshotGroup, SnapshotPolicy } from './snapshot.js';

/** Whether a grant or a policy applies to a principal. */
export type Through = 'directly' | 'everyone' | { group: SnapshotGroup };

/** How what a grant or a policy names applies to `principal`; null: it does not. */
export function matchesPrincipal(snapshot: Snapshot, named: PolicySubject, principal: Principal): Through | null {
  switch (named.type) {
    case 'everyone':
      return 'everyone';
    case 'user':
      return principal.type === 'user' && principal.id === named.id ? 'directly' : null;
    case 'engine':
      return principal.type === 'engine' && principal.name === named.name ? 'directly' : null;
    case 'group': {
      if (principal.type === 'group') return principal.id === named.id ? 'directly' : null;
      const group = snapshot.groups.find(({ id }) => id === named.id);
      return principal.type === 'user' && group?.members.includes(principal.id) === true ? { group } : null;
    }
  }
}

/** How a policy applies to `principal`: named by it, and by none of its exceptions; null when it does not. */
export function matchesPolicy(snapshot: Snapshot, policy: SnapshotPolicy, principal: Principal): Through | null {
  if (policy.except.some((excepted) => matchesPrincipal(snapshot, excepted, principal) !== null)) return null;
  return matchesPrincipal(snapshot, policy.principal, principal);
}

/** Neither revoked nor expired at the snapshot's moment; an expiry takes effect at the very instant it names. */
export function isLive(grant: SnapshotGrant, at: Date): boolean {
  return grant.revokedAt === null && (grant.expiresAt === null || grant.expiresAt > at);
}

/** Whether an entry on `wide` applies to `node`: the same node, or one above it. */
export function covers(wide: Resource, node: Resource): boolean {
  return (
    wide.catalog === node.catalog &&
    (wide.schema === undefined || wide.schema === node.schema) &&
    (wide.table === undefined || wide.table === node.table)
  );
}

/** 0 catalog, 1 schema, 2 table: of two nodes on one path, the deeper is the nearer. */
export function depth(node: Resource): number {
  return node.table !== undefined ? 2 : node.schema !== undefined ? 1 : 0;
}
