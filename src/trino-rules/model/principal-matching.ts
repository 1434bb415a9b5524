import type { PolicySubject, Principal } from './principal.js';
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
