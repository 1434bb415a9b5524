import type { Change } from '../../../src/trino-rules/answers/smallest-change.js';
import type { Snapshot, SnapshotPolicy } from '../../../src/trino-rules/model/snapshot.js';

const NEW_ID = 1_000_000;

/** The snapshot after an administrator has made these changes. */
export function applyChanges(snapshot: Snapshot, changes: readonly Change[]): Snapshot {
  return changes.reduce<Snapshot>((before, change, i) => applied(before, change, NEW_ID + i), snapshot);
}

function applied(before: Snapshot, change: Change, id: number): Snapshot {
  const withPolicy = (policy: SnapshotPolicy): Snapshot => ({ ...before, policies: [...before.policies, policy] });
  switch (change.kind) {
    case 'grant': {
      const { kind: _, ...granted } = change;
      return { ...before, grants: [...before.grants, { id, ...granted, expiresAt: null, revokedAt: null }] };
    }
    case 'revoke':
      return { ...before, grants: before.grants.filter((grant) => grant.id !== change.grant) };
    case 'except':
      return {
        ...before,
        policies: before.policies.map((policy) =>
          policy.id === change.policy ? { ...policy, except: [...policy.except, change.principal] } : policy,
        ),
      };
    case 'deny':
    case 'hidden_column':
      return withPolicy({ id, except: [], ...change });
    case 'activate':
      return {
        ...before,
        users: before.users.map((user) => (user.id === change.user ? { ...user, isActive: true } : user)),
      };
  }
}
