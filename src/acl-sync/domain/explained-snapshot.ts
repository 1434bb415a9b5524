import { grantDetails, policyDetails, sameDetails } from '../../grants/domain/audit-details.js';
import { effective } from '../../trino-rules/model/effective-snapshot.js';
import type {
  Snapshot,
  SnapshotGrant,
  SnapshotGroup,
  SnapshotPolicy,
  SnapshotUser,
} from '../../trino-rules/model/snapshot.js';
import type { AuditProjection } from './audit-projection.js';
import { joinById } from './join-by-id.js';

/**
 * The previous world with every recorded change in it, and nothing else: what was given, taken, written, joined, left and
 * deactivated, and what has expired since. Whatever else the next world has or lacks is unexplained; so are its settings.
 * (Access model, section 3, "No unexplained"; docs/decisions/0008.)
 * @param previous what had effect then
 */
export function explainedSnapshot(previous: Snapshot, present: Snapshot, record: AuditProjection): Snapshot {
  const next = effective(present);
  // The trail tells of a policy as it was written, also where it names somebody who is not there any more.
  const written = new Set(present.policies.flatMap((policy) => (record.wrote(policy) ? [policy.id] : [])));
  return {
    users: users(previous, next, record),
    groups: groups(previous, next, record),
    grants: grants(previous, next, record),
    policies: policies(previous, next, record, written),
    settings: previous.settings,
    at: next.at,
  };
}

function grants(previous: Snapshot, next: Snapshot, record: AuditProjection): SnapshotGrant[] {
  return joinById(previous.grants, next.grants).flatMap(([before, after]) => {
    // One that has ended by itself may stay: the moment is the present one.
    if (after === undefined) return record.revoked(before) ? [] : [before];
    const isKnown = before !== undefined && sameDetails(grantDetails(before), grantDetails(after));
    return isKnown || record.gave(after) ? [after] : (before ?? []);
  });
}

function policies(
  previous: Snapshot,
  next: Snapshot,
  record: AuditProjection,
  written: ReadonlySet<number>,
): SnapshotPolicy[] {
  return joinById(previous.policies, next.policies).flatMap(([before, after]) => {
    if (written.has((after ?? before).id)) return after ?? [];
    if (after === undefined) return record.deleted(before) ? [] : [before];
    return before === undefined ? [] : sameDetails(policyDetails(before), policyDetails(after)) ? [after] : [before];
  });
}

/** A name is for good, and a new account has nothing by itself. */
function users(previous: Snapshot, next: Snapshot, record: AuditProjection): SnapshotUser[] {
  return joinById(previous.users, next.users).map(([before, after]) => {
    if (before === undefined) return after;
    const isTurned = after !== undefined && after.isActive !== before.isActive && record.turned(after);
    return isTurned ? { ...before, isActive: after.isActive } : before;
  });
}

function groups(previous: Snapshot, next: Snapshot, record: AuditProjection): SnapshotGroup[] {
  return joinById(previous.groups, next.groups).flatMap(([before, after]) => {
    const { id, name } = after ?? before;
    if (after === undefined && record.deletedGroup(id)) return [];
    const [were, are] = [new Set(before?.members), new Set(after?.members)];
    const stayed = [...were].filter((member) => are.has(member) || !record.removed(id, member));
    const joined = [...are].filter((member) => !were.has(member) && record.added(id, member));
    return [{ id, name, members: [...stayed, ...joined].sort((a, b) => a - b) }];
  });
}
