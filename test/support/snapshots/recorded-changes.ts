import fc from 'fast-check';
import { explainedSnapshot, type RecordedEvent } from '../../../src/acl-sync/domain/explained-snapshot.js';
import { grantDetails, policyDetails } from '../../../src/grants/domain/audit-details.js';
import { effectiveSnapshot } from '../../../src/trino-rules/model/effective-snapshot.js';
import type { Snapshot } from '../../../src/trino-rules/model/snapshot.js';
import { NOW } from './snapshot-builder.js';
import { anySnapshot } from './any-snapshot.js';
import { ENGINES } from './vocabulary.js';

/** A snapshot, what became of it, and what was written down of that. */
export interface RecordedChanges {
  previous: Snapshot;
  next: Snapshot;
  events: RecordedEvent[];
}

type Change = (
  snapshot: Snapshot,
  other: Snapshot,
  pick: number,
) => { snapshot: Snapshot; event: RecordedEvent } | null;

/** Changes by an administrator, each with the audit event that the service records. Rows come from another snapshot. */
const TAKING: Record<string, Change> = {
  revoke: (snapshot, _, pick) => {
    const grant = picked(snapshot.grants, pick);
    if (grant === undefined) return null;
    const grants = snapshot.grants.filter(({ id }) => id !== grant.id);
    return {
      snapshot: { ...snapshot, grants },
      event: eventOf('grant_revoked', 'grant', grant.id, grantDetails(grant)),
    };
  },
  deactivate: (snapshot, _, pick) => setActive(snapshot, pick, false),
};

const OTHERS: Record<string, Change> = {
  grant: (snapshot, other, pick) => {
    const asked = picked(other.grants, pick);
    if (asked === undefined) return null;
    const grant = { ...asked, id: 1000 + pick, expiresAt: null, revokedAt: null };
    const grants = [...snapshot.grants.filter(({ id }) => id !== grant.id), grant];
    return {
      snapshot: { ...snapshot, grants },
      event: eventOf('grant_created', 'grant', grant.id, grantDetails(grant)),
    };
  },
  writePolicy: (snapshot, other, pick) => {
    const asked = picked(other.policies, pick);
    if (asked === undefined) return null;
    // Some changes replace an existing policy.
    const id = pick % 2 === 0 ? 1000 + pick : (picked(snapshot.policies, pick)?.id ?? 1000);
    const policy = { ...asked, id };
    const policies = [...snapshot.policies.filter((each) => each.id !== id), policy];
    return {
      snapshot: { ...snapshot, policies },
      event: eventOf('policy_changed', 'policy', id, policyDetails(policy)),
    };
  },
  deletePolicy: (snapshot, _, pick) => {
    const policy = picked(snapshot.policies, pick);
    if (policy === undefined) return null;
    const policies = snapshot.policies.filter(({ id }) => id !== policy.id);
    return {
      snapshot: { ...snapshot, policies },
      event: eventOf('policy_deleted', 'policy', policy.id, policyDetails(policy)),
    };
  },
  member: (snapshot, _, pick) => {
    const [group, user] = [picked(snapshot.groups, pick), picked(snapshot.users, pick >>> 3)];
    if (group === undefined || user === undefined) return null;
    const left = group.members.filter((id) => id !== user.id);
    const leaves = left.length < group.members.length;
    const members = leaves ? left : [...left, user.id];
    const groups = snapshot.groups.map((each) => (each.id === group.id ? { ...each, members } : each));
    const event = eventOf(leaves ? 'member_removed' : 'member_added', 'group', group.id, { user_id: user.id });
    return { snapshot: { ...snapshot, groups }, event };
  },
  engineMember: (snapshot, _, pick) => {
    const group = picked(snapshot.groups, pick);
    if (group === undefined) return null;
    const engine = picked(ENGINES, pick >>> 3) ?? '';
    const left = group.engines.filter((name) => name !== engine);
    const leaves = left.length < group.engines.length;
    const engines = leaves ? left : [...left, engine];
    const groups = snapshot.groups.map((each) => (each.id === group.id ? { ...each, engines } : each));
    const event = eventOf(leaves ? 'member_removed' : 'member_added', 'group', group.id, { engine });
    return { snapshot: { ...snapshot, groups }, event };
  },
  activate: (snapshot, _, pick) => setActive(snapshot, pick, true),
  rename: (snapshot, _, pick) => {
    const user = picked(snapshot.users, pick);
    if (user === undefined) return null;
    const to = `${user.name}, formerly`;
    const users = snapshot.users.map((each) => (each.id === user.id ? { ...each, name: to } : each));
    return {
      snapshot: { ...snapshot, users },
      event: eventOf('account_renamed', 'user', user.id, { from: user.name, to }),
    };
  },
};

/** @param kinds what may happen: only taking, or anything. */
export function anyRecordedChanges(kinds: 'taking' | 'anything'): fc.Arbitrary<RecordedChanges> {
  const changes = Object.values(kinds === 'taking' ? TAKING : { ...TAKING, ...OTHERS });
  const steps = fc.array(fc.tuple(fc.constantFrom(...changes), fc.nat(63)), { minLength: 1, maxLength: 8 });
  return fc.tuple(anySnapshot(), anySnapshot(), steps, fc.nat(1)).map(([previous, other, chosen, millis]) => {
    const events: RecordedEvent[] = [];
    let next = { ...previous, at: new Date(previous.at.getTime() + millis) };
    for (const [change, pick] of chosen) {
      const done = change(next, other, pick);
      if (done === null) continue;
      next = done.snapshot;
      events.push(done.event);
    }
    return { previous, next, events };
  });
}

/** The previous snapshot with what was recorded. */
export function explained({ previous, next, events }: RecordedChanges): Snapshot {
  return explainedSnapshot(effectiveSnapshot(previous), next, events);
}

function setActive(snapshot: Snapshot, pick: number, isActive: boolean): ReturnType<Change> {
  const user = picked(snapshot.users, pick);
  if (user === undefined) return null;
  const users = snapshot.users.map((each) => (each.id === user.id ? { ...each, isActive } : each));
  const event = eventOf(isActive ? 'account_activated' : 'account_deactivated', 'user', user.id, {});
  return { snapshot: { ...snapshot, users }, event };
}

function picked<T>(rows: readonly T[], pick: number): T | undefined {
  return rows[pick % (rows.length || 1)];
}

function eventOf(
  event: RecordedEvent['event'],
  type: 'grant' | 'policy' | 'group' | 'user',
  id: number,
  details: Readonly<Record<string, unknown>>,
): RecordedEvent {
  return { event, subject: { type, id: String(id), name: null }, details, at: NOW };
}
