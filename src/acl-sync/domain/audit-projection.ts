import type { AuditEvent, AuditEventName } from '../../audit/domain/audit-event.js';
import { detailsText, grantDetails, memberDetails, policyDetails } from '../../grants/domain/audit-details.js';
import type { GroupMember } from '../../trino-rules/model/principal.js';
import type { SnapshotGrant, SnapshotPolicy } from '../../trino-rules/model/snapshot.js';

export type RecordedEvent = Pick<AuditEvent, 'event' | 'subject' | 'details' | 'at'>;

/**
 * The last recorded state of each grant, policy, membership and account. An event is written in the transaction of its change,
 * so a row that differs from its last event was changed without Grantline.
 */
export class AuditProjection {
  private readonly states = new Map<string, string>();

  /** @param events in the order of the trail */
  constructor(events: Iterable<RecordedEvent>) {
    for (const { event, subject, details } of events) {
      const entry = PROJECTIONS.get(event)?.(subject?.id ?? '', details);
      if (entry !== undefined) this.states.set(...entry);
    }
  }

  isGrantRecorded(grant: SnapshotGrant): boolean {
    return this.states.get(`grant ${grant.id}`) === detailsText(grantDetails(grant));
  }

  isGrantRevoked({ id }: SnapshotGrant): boolean {
    return this.states.get(`grant ${id}`) === REMOVED;
  }

  isPolicyRecorded(policy: SnapshotPolicy): boolean {
    return this.states.get(`policy ${policy.id}`) === detailsText(policyDetails(policy));
  }

  isPolicyDeleted({ id }: SnapshotPolicy): boolean {
    return this.states.get(`policy ${id}`) === REMOVED;
  }

  isMemberAdded(groupId: number, member: GroupMember): boolean {
    return this.states.get(memberKey(groupId, memberDetails(member))) === PRESENT;
  }

  /** Deleting a group removes its members. */
  isMemberRemoved(groupId: number, member: GroupMember): boolean {
    return this.states.get(memberKey(groupId, memberDetails(member))) === REMOVED || this.isGroupDeleted(groupId);
  }

  isGroupDeleted(id: number): boolean {
    return this.states.get(`group ${id}`) === REMOVED;
  }

  /** Whether the last event made the account active or inactive, as it is now. */
  isActivationRecorded({ id, isActive }: { id: number; isActive: boolean }): boolean {
    return this.states.get(`user ${id}`) === (isActive ? PRESENT : REMOVED);
  }

  /** Whether the last event gave the account the name that it has now. */
  isRenameRecorded({ id, name }: { id: number; name: string }): boolean {
    return this.states.get(`name ${id}`) === name;
  }
}

const PRESENT = 'present';
const REMOVED = 'removed';

type Projection = (id: string, details: AuditEvent['details']) => [key: string, state: string];
const memberKey = (group: string | number, details: AuditEvent['details']): string =>
  `member ${group} ${detailsText(details)}`;

/** For each event that changes the rules: the key of its object, and the state that it leaves. */
const PROJECTIONS = new Map<AuditEventName, Projection>([
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

export const PROJECTED_EVENTS: readonly AuditEventName[] = [...PROJECTIONS.keys()];
