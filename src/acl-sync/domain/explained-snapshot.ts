import type { AuditEvent, AuditEventName } from '../../audit/domain/audit-event.js';
import {
  detailsText,
  grantDetails,
  memberDetails,
  policyDetails,
  sameDetails,
} from '../../grants/domain/audit-details.js';
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

export type RecordedEvent = Pick<AuditEvent, 'event' | 'subject' | 'details' | 'at'>;

/** The last recorded state of each grant, policy, membership and account, by the key of its object. */
type RecordedStates = ReadonlyMap<string, string>;

const PRESENT = 'present';
const REMOVED = 'removed';

const memberKey = (group: string | number, details: AuditEvent['details']): string =>
  `member ${group} ${detailsText(details)}`;

/** For each event that changes the rules, the key of its object and the object's state after it. */
const STATES = new Map<AuditEventName, (id: string, details: AuditEvent['details']) => [key: string, state: string]>([
  ['grant_created', (id, details) => [`grant ${id}`, detailsText(details)]],
  ['grant_revoked', (id) => [`grant ${id}`, REMOVED]],
  ['policy_created', (id, details) => [`policy ${id}`, detailsText(details)]],
  ['policy_changed', (id, details) => [`policy ${id}`, detailsText(details)]],
  ['policy_deleted', (id) => [`policy ${id}`, REMOVED]],
  ['member_added', (id, details) => [memberKey(id, details), PRESENT]],
  ['member_removed', (id, details) => [memberKey(id, details), REMOVED]],
  ['group_deleted', (id) => [`group ${id}`, REMOVED]],
  ['account_activated', (id) => [`user ${id}`, PRESENT]],
  ['account_deactivated', (id) => [`user ${id}`, REMOVED]],
  ['account_renamed', (id, details) => [`name ${id}`, String(details['to'])]],
]);

export const EVENTS_OF_RULES: readonly AuditEventName[] = [...STATES.keys()];

/**
 * The previous snapshot with exactly the recorded changes and expiries since then. Any other difference from the present snapshot,
 * including settings, is unexplained (docs/decisions/0008): a change and its event are written in one transaction, so a row that differs
 * from its last event was changed without Grantline.
 * @param previous contains only entries that had effect then
 * @param events in the order of the trail
 */
export function explainedSnapshot(previous: Snapshot, present: Snapshot, events: readonly RecordedEvent[]): Snapshot {
  const next = effective(present);
  const states = new Map(
    events.flatMap(({ event, subject, details }) => {
      const state = STATES.get(event)?.(subject?.id ?? '', details);
      return state === undefined ? [] : [state];
    }),
  );
  // Compared before principals that no longer exist are dropped, because events contain policies as they were written.
  const isRecorded = (policy: SnapshotPolicy) =>
    states.get(`policy ${policy.id}`) === detailsText(policyDetails(policy));
  const recorded = new Set(present.policies.filter(isRecorded).map(({ id }) => id));
  return {
    users: users(previous, next, states),
    groups: groups(previous, next, states),
    grants: grants(previous, next, states),
    policies: policies(previous, next, states, recorded),
    settings: previous.settings,
    at: next.at,
  };
}

function grants(previous: Snapshot, next: Snapshot, states: RecordedStates): SnapshotGrant[] {
  return joinById(previous.grants, next.grants).flatMap(([before, after]) => {
    // An expired grant may stay, because `at` is the present time and so it has no effect.
    if (after === undefined) return states.get(`grant ${before.id}`) === REMOVED ? [] : [before];
    const isKnown = before !== undefined && sameDetails(grantDetails(before), grantDetails(after));
    return isKnown || states.get(`grant ${after.id}`) === detailsText(grantDetails(after)) ? [after] : (before ?? []);
  });
}

function policies(
  previous: Snapshot,
  next: Snapshot,
  states: RecordedStates,
  recorded: ReadonlySet<number>,
): SnapshotPolicy[] {
  return joinById(previous.policies, next.policies).flatMap(([before, after]) => {
    const { id } = after ?? before;
    if (recorded.has(id)) return after ?? [];
    if (after === undefined) return states.get(`policy ${id}`) === REMOVED ? [] : [before];
    return before === undefined ? [] : sameDetails(policyDetails(before), policyDetails(after)) ? [after] : [before];
  });
}

/** The users after recorded changes. New accounts are included, because an account alone gives no access. */
function users(previous: Snapshot, next: Snapshot, states: RecordedStates): SnapshotUser[] {
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

function groups(previous: Snapshot, next: Snapshot, states: RecordedStates): SnapshotGroup[] {
  return joinById(previous.groups, next.groups).flatMap(([before, after]) => {
    const { id, name } = after ?? before;
    const isDeleted = states.get(`group ${id}`) === REMOVED;
    if (after === undefined && isDeleted) return [];
    const stateOf = (member: GroupMember): string | undefined =>
      isDeleted ? REMOVED : states.get(memberKey(id, memberDetails(member)));
    const members = moved(before?.members, after?.members, (member) => stateOf({ type: 'user', id: member }));
    const engines = moved(before?.engines, after?.engines, (member) => stateOf({ type: 'engine', name: member }));
    return [{ id, name, members: members.sort((a, b) => a - b), engines: engines.sort(compareNames) }];
  });
}

/** The former members, with recorded joins and without recorded leaves. */
function moved<T>(
  before: readonly T[] = [],
  after: readonly T[] = [],
  stateOf: (member: T) => string | undefined,
): T[] {
  const [were, are] = [new Set(before), new Set(after)];
  const stayed = [...were].filter((member) => are.has(member) || stateOf(member) !== REMOVED);
  const joined = [...are].filter((member) => !were.has(member) && stateOf(member) === PRESENT);
  return [...stayed, ...joined];
}

/** Full outer join by id. */
export function joinById<T extends { id: number }>(
  before: readonly T[],
  after: readonly T[],
): ([T, T] | [T, undefined] | [undefined, T])[] {
  const afterById = new Map(after.map((row) => [row.id, row]));
  const known = new Set(before.map(({ id }) => id));
  return [
    ...before.map((row): [T, T] | [T, undefined] => {
      const same = afterById.get(row.id);
      return same === undefined ? [row, same] : [row, same];
    }),
    ...after.filter(({ id }) => !known.has(id)).map((row): [undefined, T] => [undefined, row]),
  ];
}
