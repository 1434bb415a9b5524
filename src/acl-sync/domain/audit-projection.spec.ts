import { NOW } from '../../../test/support/snapshots/snapshot-builder.js';
import { grantDetails } from '../../grants/domain/audit-details.js';
import type { SnapshotGrant } from '../../trino-rules/model/snapshot.js';
import { AuditProjection, type RecordedEvent } from './audit-projection.js';

const grant: SnapshotGrant = {
  id: 4,
  principal: { type: 'engine', name: 'loader' },
  resource: { catalog: 'sales' },
  privileges: ['SELECT'],
  expiresAt: null,
  revokedAt: null,
};
const event = (name: RecordedEvent['event'], id: number, details: RecordedEvent['details'] = {}): RecordedEvent => ({
  event: name,
  subject: { type: 'grant', id: String(id), name: null },
  details,
  at: NOW,
});

const SEVEN = { type: 'user', id: 7 } as const;

describe('the state by the audit trail', () => {
  it('is that of the last event', () => {
    const created = event('grant_created', 4, grantDetails(grant));
    expect(new AuditProjection([created]).isGrantRecorded(grant)).toBe(true);
    expect(new AuditProjection([created]).isGrantRecorded({ ...grant, privileges: ['INSERT'] })).toBe(false);
    const revoked = new AuditProjection([created, event('grant_revoked', 4)]);
    expect([revoked.isGrantRecorded(grant), revoked.isGrantRevoked(grant)]).toEqual([false, true]);
    expect(new AuditProjection([event('login_succeeded', 4)]).isGrantRevoked(grant)).toBe(false);
  });

  it('of a membership goes with its group', () => {
    const added = new AuditProjection([event('member_added', 1, { user_id: 7 })]);
    expect(added.isMemberAdded(1, SEVEN)).toBe(true);
    expect(added.isMemberRemoved(1, SEVEN)).toBe(false);
    expect(added.isMemberAdded(1, { type: 'user', id: 8 })).toBe(false);
    const deleted = new AuditProjection([event('member_added', 1, { user_id: 7 }), event('group_deleted', 1)]);
    expect([deleted.isMemberRemoved(1, SEVEN), deleted.isGroupDeleted(1)]).toEqual([true, true]);
  });

  it('of an engine principal in a group is told from that of an account', () => {
    const etl = { type: 'engine', name: '7' } as const;
    const left = new AuditProjection([
      event('member_added', 1, { engine: '7' }),
      event('member_added', 1, { user_id: 7 }),
      event('member_removed', 1, { engine: '7' }),
    ]);
    expect([left.isMemberRemoved(1, etl), left.isMemberAdded(1, etl)]).toEqual([true, false]);
    expect([left.isMemberRemoved(1, SEVEN), left.isMemberAdded(1, SEVEN)]).toEqual([false, true]);
  });

  it('of an account is active or not', () => {
    const off = new AuditProjection([event('account_activated', 7), event('account_deactivated', 7)]);
    expect(off.isActivationRecorded({ id: 7, isActive: false })).toBe(true);
    expect(off.isActivationRecorded({ id: 7, isActive: true })).toBe(false);
  });
});
