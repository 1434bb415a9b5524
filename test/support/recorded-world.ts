import fc from 'fast-check';
import type { RecordedEvent } from '../../src/acl-sync/domain/audit-projection.js';
import { grantDetails, policyDetails } from '../../src/grants/domain/audit-details.js';
import type { Snapshot } from '../../src/trino-rules/model/snapshot.js';
import { NOW } from './a-world.js';
import { anyWorld } from './any-world.js';

/** A world, what became of it, and what was written down of that. */
export interface ChangedWorld {
  previous: Snapshot;
  next: Snapshot;
  events: RecordedEvent[];
}

type Change = (world: Snapshot, other: Snapshot, pick: number) => { world: Snapshot; event: RecordedEvent } | null;

/** What an administrator can do, each told of in the trail as the service tells of it. Rows come out of another world. */
const TAKING: Record<string, Change> = {
  revoke: (world, _, pick) => {
    const grant = picked(world.grants, pick);
    if (grant === undefined) return null;
    const grants = world.grants.filter(({ id }) => id !== grant.id);
    return { world: { ...world, grants }, event: told('grant_revoked', 'grant', grant.id, grantDetails(grant)) };
  },
  deactivate: (world, _, pick) => turned(world, pick, false),
};

const OTHERS: Record<string, Change> = {
  grant: (world, other, pick) => {
    const asked = picked(other.grants, pick);
    if (asked === undefined) return null;
    const grant = { ...asked, id: 1000 + pick, expiresAt: null, revokedAt: null };
    const grants = [...world.grants.filter(({ id }) => id !== grant.id), grant];
    return { world: { ...world, grants }, event: told('grant_created', 'grant', grant.id, grantDetails(grant)) };
  },
  writePolicy: (world, other, pick) => {
    const asked = picked(other.policies, pick);
    if (asked === undefined) return null;
    // Now and then one that is there already is changed in place.
    const id = pick % 2 === 0 ? 1000 + pick : (picked(world.policies, pick)?.id ?? 1000);
    const policy = { ...asked, id };
    const policies = [...world.policies.filter((each) => each.id !== id), policy];
    return { world: { ...world, policies }, event: told('policy_changed', 'policy', id, policyDetails(policy)) };
  },
  deletePolicy: (world, _, pick) => {
    const policy = picked(world.policies, pick);
    if (policy === undefined) return null;
    const policies = world.policies.filter(({ id }) => id !== policy.id);
    return { world: { ...world, policies }, event: told('policy_deleted', 'policy', policy.id, policyDetails(policy)) };
  },
  member: (world, _, pick) => {
    const [group, user] = [picked(world.groups, pick), picked(world.users, pick >>> 3)];
    if (group === undefined || user === undefined) return null;
    const left = group.members.filter((id) => id !== user.id);
    const leaves = left.length < group.members.length;
    const members = leaves ? left : [...left, user.id];
    const groups = world.groups.map((each) => (each.id === group.id ? { ...each, members } : each));
    const event = told(leaves ? 'member_removed' : 'member_added', 'group', group.id, { user_id: user.id });
    return { world: { ...world, groups }, event };
  },
  activate: (world, _, pick) => turned(world, pick, true),
};

/** @param kinds what may happen: only taking, or anything. */
export function anyRecordedChanges(kinds: 'taking' | 'anything'): fc.Arbitrary<ChangedWorld> {
  const changes = Object.values(kinds === 'taking' ? TAKING : { ...TAKING, ...OTHERS });
  const steps = fc.array(fc.tuple(fc.constantFrom(...changes), fc.nat(63)), { minLength: 1, maxLength: 8 });
  return fc.tuple(anyWorld(), anyWorld(), steps, fc.nat(1)).map(([previous, other, chosen, millis]) => {
    const events: RecordedEvent[] = [];
    let next = { ...previous, at: new Date(previous.at.getTime() + millis) };
    for (const [change, pick] of chosen) {
      const done = change(next, other, pick);
      if (done === null) continue;
      next = done.world;
      events.push(done.event);
    }
    return { previous, next, events };
  });
}

function turned(world: Snapshot, pick: number, isActive: boolean): ReturnType<Change> {
  const user = picked(world.users, pick);
  if (user === undefined) return null;
  const users = world.users.map((each) => (each.id === user.id ? { ...each, isActive } : each));
  const event = told(isActive ? 'account_activated' : 'account_deactivated', 'user', user.id, {});
  return { world: { ...world, users }, event };
}

function picked<T>(rows: readonly T[], pick: number): T | undefined {
  return rows[pick % (rows.length || 1)];
}

function told(
  event: RecordedEvent['event'],
  type: 'grant' | 'policy' | 'group' | 'user',
  id: number,
  details: Readonly<Record<string, unknown>>,
): RecordedEvent {
  return { event, subject: { type, id: String(id), name: null }, details, at: NOW };
}
