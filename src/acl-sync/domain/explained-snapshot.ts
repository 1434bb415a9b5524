import { grantDetails, policyDetails, sameDetails } from '../../grants/domain/audit-details.js';
import { effective } from '../../trino-rules/model/effective-snapshot.js';
import { compareNames } from '../../trino-rules/model/node.js';
import type { GroupMember } from '../../trino-rules/model/principal.js';
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
 * The previous snapshot with every recorded change and every expiry since applied to it, and nothing else. Any other difference
 * to the present snapshot, settings included, is unexplained (docs/decisions/0008).
 * @param previous only what had effect then
 */
export function explainedSnapshot(previous: Snapshot, present: Snapshot, record: AuditProjection): Snapshot {
  const next = effective(present);
  // Events hold a policy as it was written, with principals that no longer exist: compared before they are dropped.
  const recorded = new Set(present.policies.flatMap((policy) => (record.isPolicyRecorded(policy) ? [policy.id] : [])));
  return {
    users: users(previous, next, record),
    groups: groups(previous, next, record),
    grants: grants(previous, next, record),
    policies: policies(previous, next, record, recorded),
    settings: previous.settings,
    at: next.at,
  };
}

function grants(previous: Snapshot, next: Snapshot, record: AuditProjection): SnapshotGrant[] {
  return joinById(previous.grants, next.grants).flatMap(([before, after]) => {
    // An expired grant may stay: `at` is the present, so it has no effect.
    if (after === undefined) return record.isGrantRevoked(before) ? [] : [before];
    const isKnown = before !== undefined && sameDetails(grantDetails(before), grantDetails(after));
    return isKnown || record.isGrantRecorded(after) ? [after] : (before ?? []);
  });
}

function policies(
  previous: Snapshot,
  next: Snapshot,
  record: AuditProjection,
  recorded: ReadonlySet<number>,
): SnapshotPolicy[] {
  return joinById(previous.policies, next.policies).flatMap(([before, after]) => {
    if (recorded.has((after ?? before).id)) return after ?? [];
    if (after === undefined) return record.isPolicyDeleted(before) ? [] : [before];
    return before === undefined ? [] : sameDetails(policyDetails(before), policyDetails(after)) ? [after] : [before];
  });
}

/** A new account has no access by itself. */
function users(previous: Snapshot, next: Snapshot, record: AuditProjection): SnapshotUser[] {
  return joinById(previous.users, next.users).map(([before, after]) => {
    if (before === undefined || after === undefined) return before ?? after;
    const isSwitched = after.isActive !== before.isActive && record.isActivationRecorded(after);
    const isRenamed = after.name !== before.name && record.isRenameRecorded(after);
    return {
      ...before,
      ...(isSwitched ? { isActive: after.isActive } : {}),
      ...(isRenamed ? { name: after.name } : {}),
    };
  });
}

function groups(previous: Snapshot, next: Snapshot, record: AuditProjection): SnapshotGroup[] {
  return joinById(previous.groups, next.groups).flatMap(([before, after]) => {
    const { id, name } = after ?? before;
    if (after === undefined && record.isGroupDeleted(id)) return [];
    const members = moved(before?.members, after?.members, id, (member) => ({ type: 'user', id: member }), record);
    const engines = moved(before?.engines, after?.engines, id, (member) => ({ type: 'engine', name: member }), record);
    return [{ id, name, members: members.sort((a, b) => a - b), engines: engines.sort(compareNames) }];
  });
}

/** The members of before, with the joins and without the leaves that are recorded. */
function moved<T>(
  before: readonly T[] = [],
  after: readonly T[] = [],
  group: number,
  memberOf: (member: T) => GroupMember,
  record: AuditProjection,
): T[] {
  const [were, are] = [new Set(before), new Set(after)];
  const stayed = [...were].filter((member) => are.has(member) || !record.isMemberRemoved(group, memberOf(member)));
  const joined = [...are].filter((member) => !were.has(member) && record.isMemberAdded(group, memberOf(member)));
  return [...stayed, ...joined];
}
