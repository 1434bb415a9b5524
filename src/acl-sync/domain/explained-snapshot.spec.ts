import fc from 'fast-check';
import { anyRecordedChanges, explained } from '../../../test/support/snapshots/recorded-changes.js';
import { aSnapshot, NOW } from '../../../test/support/snapshots/snapshot-builder.js';
import { writtenSnapshot } from './unexplained-change.js';

describe('an explained snapshot', () => {
  it('is the next snapshot if every change was recorded', () => {
    fc.assert(
      fc.property(anyRecordedChanges('anything'), (changed) => {
        expect(writtenSnapshot(explained(changed))).toBe(writtenSnapshot(changed.next));
      }),
      { numRuns: 25 },
    );
  });

  it('is the previous snapshot if nothing was recorded', () => {
    fc.assert(
      fc.property(anyRecordedChanges('anything'), ({ previous, next }) => {
        const unexpired = { ...next, at: previous.at };
        expect(writtenSnapshot(explained({ previous, next: unexpired, events: [] }))).toBe(writtenSnapshot(previous));
      }),
    );
  });

  it('compares a row with its last event only: removed, added again, then missing without an event', () => {
    const previous = aSnapshot().group('readers', ['ana']).may('SELECT', 'sales').snapshot();
    const next = { ...previous, groups: previous.groups.map((group) => ({ ...group, members: [] })) };
    const member = { subject: { type: 'group', id: '1', name: null }, details: { user_id: 1 }, at: NOW } as const;
    const removed = { ...member, event: 'member_removed' } as const;
    expect(explained({ previous, next, events: [removed] }).groups).toEqual(next.groups);
    const added = { ...member, event: 'member_added' } as const;
    expect(explained({ previous, next, events: [removed, added] }).groups).toEqual(previous.groups);
  });

  it('tells an engine principal in a group from an account, and takes both out with the group', () => {
    const previous = aSnapshot().group('readers', ['ana'], ['1']).may('SELECT', 'sales').snapshot();
    const next = { ...previous, groups: previous.groups.map((group) => ({ ...group, members: [], engines: [] })) };
    const about = { subject: { type: 'group', id: '1', name: null }, at: NOW } as const;
    const left = { ...about, event: 'member_removed', details: { engine: '1' } } as const;
    expect(explained({ previous, next, events: [left] }).groups).toMatchObject([{ members: [1], engines: [] }]);
    const deleted = { ...about, event: 'group_deleted', details: {} } as const;
    expect(explained({ previous, next: { ...next, groups: [] }, events: [deleted] }).groups).toEqual([]);
  });

  it('has an account active or not as its last event left it', () => {
    const previous = aSnapshot().user('ana').may('SELECT', 'sales').snapshot();
    const next = { ...previous, users: previous.users.map((user) => ({ ...user, isActive: false })) };
    const about = { subject: { type: 'user', id: '1', name: null }, details: {}, at: NOW } as const;
    const [off, on] = (['account_deactivated', 'account_activated'] as const).map((event) => ({ ...about, event }));
    if (off === undefined || on === undefined) throw new Error('there are two');
    expect(explained({ previous, next, events: [on, off] }).users).toMatchObject([{ isActive: false }]);
    expect(explained({ previous, next, events: [off, on] }).users).toMatchObject([{ isActive: true }]);
  });
});
