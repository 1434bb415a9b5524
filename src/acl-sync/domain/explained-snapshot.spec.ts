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
});
