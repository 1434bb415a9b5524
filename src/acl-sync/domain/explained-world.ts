import { grantFacts, policyFacts, sameFacts } from '../../grants/domain/facts.js';
import { effective } from '../../trino-rules/model/effective-snapshot.js';
import type { Snapshot, SnapshotGrant, SnapshotGroup, SnapshotPolicy, SnapshotUser } from '../../trino-rules/model/snapshot.js';
import type { LastWords } from './last-words.js';
import { pairs } from './pairs.js';

/**
 * The former world with every recorded change in it, and nothing else: what was given, taken, written, joined, left and
 * deactivated, and what has expired since. Whatever else the next world has or lacks is unexplained; so are its settings.
 * (Access model, section 3, "No surprise"; docs/decisions/0008.)
 * @param former what had effect then
 */
export function explainedWorld(former: Snapshot, present: Snapshot, record: LastWords): Snapshot {
  const next = effective(present);
  // The trail tells of a policy as it was written, also where it names somebody who is not there any more.
  const written = new Set(present.policies.flatMap((policy) => (record.wrote(policy) ? [policy.id] : [])));
  return {
    users: users(former, next, record),
    groups: groups(former, next, record),
    grants: grants(former, next, record),
    policies: policies(former, next, record, written),
    settings: former.settings,
    at: next.at,
  };
}

function grants(former: Snapshot, next: Snapshot, record: LastWords): SnapshotGrant[] {
  return pairs(former.grants, next.grants).flatMap(([before, after]) => {
    // One that has ended by itself may stay: the moment is the present one.
    if (after === undefined) return record.revoked(before) ? [] : [before];
    const isKnown = before !== undefined && sameFacts(grantFacts(before), grantFacts(after));
    return isKnown || record.gave(after) ? [after] : (before ?? []);
  });
}

function policies(former: Snapshot, next: Snapshot, record: LastWords, written: ReadonlySet<number>): SnapshotPolicy[] {
  return pairs(former.policies, next.policies).flatMap(([before, after]) => {
    if (written.has((after ?? before).id)) return after ?? [];
    if (after === undefined) return record.deleted(before) ? [] : [before];
    return before === undefined ? [] : sameFacts(policyFacts(before), policyFacts(after)) ? [after] : [before];
  });
}

/** A name is for good, and a new account has nothing by itself. */
function users(former: Snapshot, next: Snapshot, record: LastWords): SnapshotUser[] {
  return pairs(former.users, next.users).map(([before, after]) => {
    if (before === undefined) return after;
    const isTurned = after !== undefined && after.isActive !== before.isActive && record.turned(after);
    return isTurned ? { ...before, isActive: after.isActive } : before;
  });
}

function groups(former: Snapshot, next: Snapshot, record: LastWords): SnapshotGroup[] {
  return pairs(former.groups, next.groups).flatMap(([before, after]) => {
    const { id, name } = after ?? before;
    if (after === undefined && record.deletedGroup(id)) return [];
    const [were, are] = [new Set(before?.members), new Set(after?.members)];
    const stayed = [...were].filter((member) => are.has(member) || !record.removed(id, member));
    const joined = [...are].filter((member) => !were.has(member) && record.added(id, member));
    return [{ id, name, members: [...stayed, ...joined].sort((a, b) => a - b) }];
  });
}
