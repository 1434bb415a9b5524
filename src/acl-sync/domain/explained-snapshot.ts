import { canonicalJson } from '../../kernel/json-reader.js';
import type { AuditEvent, AuditEventName } from '../../audit/domain/audit-event.js';
import { grantDetails, memberDetails, policyDetails, equalDetails } from '../../grants/domain/audit-details.js';
import { effectiveSnapshot } from '../../trino-rules/model/effective-snapshot.js';
import { compareNames } from '../../trino-rules/model/node.js';
import type { GroupMember } from '../../trino-rules/model/principal.js';
import type {
  Snapshot,
  SnapshotGrant,
  SnapshotGroup,
  SnapshotPolicy,
  SnapshotUser,
} from '../../trino-rules/model/snapshot.js';

export type RecordedEvent = Pick<AuditEvent, 'event' | 'subject' | 'details' | 'at'>;

/** The last recorded state of each grant, policy, membership and account, by the key of its object. */
type RecordedStates = ReadonlyMap<string, string>;

const PRESENT = 'present';
const REMOVED = 'removed';

const memberKey = (group: string | number, details: AuditEvent['details']): string =>
  `member ${group} ${canonicalJson(details)}`;

const STATE_BY_EVENT = new Map<
  AuditEventName,
  (id: string, details: AuditEvent['details']) => [key: string, state: string]
>([
  ['grant_created', (id, details) => [`grant ${id}`, canonicalJson(details)]],
  ['grant_revoked', (id) => [`grant ${id}`, REMOVED]],
  ['policy_created', (id, details) => [`policy ${id}`, canonicalJson(details)]],
  ['policy_changed', (id, details) => [`policy ${id}`, canonicalJson(details)]],
  ['policy_deleted', (id) => [`policy ${id}`, REMOVED]],
  ['member_added', (id, details) => [memberKey(id, details), PRESENT]],
  ['member_removed', (id, details) => [memberKey(id, details), REMOVED]],
  ['group_deleted', (id) => [`group ${id}`, REMOVED]],
  ['account_activated', (id) => [`user ${id}`, PRESENT]],
  ['account_deactivated', (id) => [`user ${id}`, REMOVED]],
  ['account_renamed', (id, details) => [`name ${id}`, String(details['to'])]],
]);

export const EVENTS_OF_RULES: readonly AuditEventName[] = [...STATE_BY_EVENT.keys()];

/**
 * The previous snapshot with exactly the recorded changes and expiries since then. Any other difference from the present snapshot is
 * unexplained, for example a row that was changed without Grantline (docs/decisions/0008).
 * @param previous a snapshot with only those entries that had effect at its time
 * @param events in the order of the trail
 */
export function explainedSnapshot(previous: Snapshot, present: Snapshot, events: readonly RecordedEvent[]): Snapshot {
  const presentSnapshot = effectiveSnapshot(present);
  const states = new Map(
    events.flatMap(({ event, subject, details }) => {
      const state = STATE_BY_EVENT.get(event)?.(subject?.id ?? '', details);
      return state === undefined ? [] : [state];
    }),
  );
  // Policies are compared before missing principals are dropped, because events contain policies as they were written.
  const isRecorded = (policy: SnapshotPolicy) =>
    states.get(`policy ${policy.id}`) === canonicalJson(policyDetails(policy));
  const recordedPolicyIds = new Set(present.policies.filter(isRecorded).map(({ id }) => id));
  return {
    users: explainedUsers(previous, presentSnapshot, states),
    groups: explainedGroups(previous, presentSnapshot, states),
    grants: explainedGrants(previous, presentSnapshot, states),
    policies: explainedPolicies(previous, presentSnapshot, states, recordedPolicyIds),
    settings: previous.settings,
    at: presentSnapshot.at,
  };
}

function explainedGrants(previous: Snapshot, next: Snapshot, states: RecordedStates): SnapshotGrant[] {
  return joinById(previous.grants, next.grants).flatMap(([before, after]) => {
    // A grant that `next` lacks is kept, unless its removal was recorded. No event records an expiry, but an expired grant has no effect.
    if (after === undefined) return states.get(`grant ${before.id}`) === REMOVED ? [] : [before];
    const isEqual = before !== undefined && equalDetails(grantDetails(before), grantDetails(after));
    return isEqual || states.get(`grant ${after.id}`) === canonicalJson(grantDetails(after)) ? [after] : (before ?? []);
  });
}

function explainedPolicies(
  previous: Snapshot,
  next: Snapshot,
  states: RecordedStates,
  recordedPolicyIds: ReadonlySet<number>,
): SnapshotPolicy[] {
  return joinById(previous.policies, next.policies).flatMap(([before, after]) => {
    const { id } = after ?? before;
    if (recordedPolicyIds.has(id)) return after ?? [];
    if (after === undefined) return states.get(`policy ${id}`) === REMOVED ? [] : [before];
    return before === undefined ? [] : equalDetails(policyDetails(before), policyDetails(after)) ? [after] : [before];
  });
}

/** The users of `previous` after the recorded changes. New accounts are included, because an account alone gives no access. */
function explainedUsers(previous: Snapshot, next: Snapshot, states: RecordedStates): SnapshotUser[] {
  return joinById(previous.users, next.users).map(([before, after]) => {
    if (before === undefined || after === undefined) return before ?? after;
    const { id, name, isActive } = after;
    return {
      ...before,
      ...(states.get(`user ${id}`) === (isActive ? PRESENT : REMOVED) && { isActive }),
      ...(states.get(`name ${id}`) === name && { name }),
    };
  });
}

function explainedGroups(previous: Snapshot, next: Snapshot, states: RecordedStates): SnapshotGroup[] {
  return joinById(previous.groups, next.groups).flatMap(([before, after]) => {
    const { id, name } = after ?? before;
    const isDeleted = states.get(`group ${id}`) === REMOVED;
    if (after === undefined && isDeleted) return [];
    const stateOf = (member: GroupMember): string | undefined =>
      isDeleted ? REMOVED : states.get(memberKey(id, memberDetails(member)));
    const members = carryOver(before?.members, after?.members, (member) => stateOf({ type: 'user', id: member }));
    const engines = carryOver(before?.engines, after?.engines, (member) => stateOf({ type: 'engine', name: member }));
    return [{ id, name, members: members.sort((a, b) => a - b), engines: engines.sort(compareNames) }];
  });
}

/** `formerMembers` after the joins and leaves that audit events record. Unrecorded changes are ignored. @param stateOf a member's last recorded state */
function carryOver<T>(
  formerMembers: readonly T[] = [],
  presentMembers: readonly T[] = [],
  stateOf: (member: T) => string | undefined,
): T[] {
  const [formerSet, presentSet] = [new Set(formerMembers), new Set(presentMembers)];
  const remainingMembers = [...formerSet].filter((member) => presentSet.has(member) || stateOf(member) !== REMOVED);
  const joinedMembers = [...presentSet].filter((member) => !formerSet.has(member) && stateOf(member) === PRESENT);
  return [...remainingMembers, ...joinedMembers];
}

/** Full outer join by id. */
export function joinById<T extends { id: number }>(
  before: readonly T[],
  after: readonly T[],
): ([T, T] | [T, undefined] | [undefined, T])[] {
  const afterById = new Map(after.map((row) => [row.id, row]));
  const formerIds = new Set(before.map(({ id }) => id));
  return [
    ...before.map((row): [T, T] | [T, undefined] => {
      const matchingRow = afterById.get(row.id);
      return matchingRow === undefined ? [row, matchingRow] : [row, matchingRow];
    }),
    ...after.filter(({ id }) => !formerIds.has(id)).map((row): [undefined, T] => [undefined, row]),
  ];
}
