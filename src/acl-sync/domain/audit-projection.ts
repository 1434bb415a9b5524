import type { AuditEvent, AuditEventName } from '../../audit/domain/audit-event.js';
import { detailsText, grantDetails, policyDetails } from '../../grants/domain/audit-details.js';
import type { SnapshotGrant, SnapshotPolicy } from '../../trino-rules/model/snapshot.js';

export type RecordedEvent = Pick<AuditEvent, 'event' | 'subject' | 'details' | 'at'>;

/**
 * What the audit trail last said of each grant, policy, membership and account. An event is written in the transaction of the
 * change that it tells of, so a row that differs from its last word was changed behind our back.
 */
export class AuditProjection {
  private readonly words = new Map<string, string>();

  /** @param events the oldest first. */
  constructor(events: Iterable<RecordedEvent>) {
    for (const { event, subject, details } of events) {
      const word = SAID.get(event)?.(subject?.id ?? '', details);
      if (word !== undefined) this.words.set(...word);
    }
  }

  gave(grant: SnapshotGrant): boolean {
    return this.words.get(`grant ${grant.id}`) === detailsText(grantDetails(grant));
  }

  revoked({ id }: SnapshotGrant): boolean {
    return this.words.get(`grant ${id}`) === GONE;
  }

  wrote(policy: SnapshotPolicy): boolean {
    return this.words.get(`policy ${policy.id}`) === detailsText(policyDetails(policy));
  }

  deleted({ id }: SnapshotPolicy): boolean {
    return this.words.get(`policy ${id}`) === GONE;
  }

  added(groupId: number, userId: number): boolean {
    return this.words.get(`member ${groupId} ${userId}`) === HERE;
  }

  /** Whoever deletes a group removes its members. */
  removed(groupId: number, userId: number): boolean {
    return this.words.get(`member ${groupId} ${userId}`) === GONE || this.deletedGroup(groupId);
  }

  deletedGroup(id: number): boolean {
    return this.words.get(`group ${id}`) === GONE;
  }

  /** Activated or deactivated, as the account is now. */
  turned({ id, isActive }: { id: number; isActive: boolean }): boolean {
    return this.words.get(`user ${id}`) === (isActive ? HERE : GONE);
  }
}

const HERE = 'here';
const GONE = 'gone';

type Said = (id: string, details: AuditEvent['details']) => [about: string, word: string];
const member = (id: string, details: AuditEvent['details']): string => `member ${id} ${String(details['user_id'])}`;

/** What each event that tells of what rules follow from says about what. */
const SAID = new Map<AuditEventName, Said>([
  ['grant_created', (id, details) => [`grant ${id}`, detailsText(details)]],
  ['grant_revoked', (id) => [`grant ${id}`, GONE]],
  ['policy_created', (id, details) => [`policy ${id}`, detailsText(details)]],
  ['policy_changed', (id, details) => [`policy ${id}`, detailsText(details)]],
  ['policy_deleted', (id) => [`policy ${id}`, GONE]],
  ['member_added', (id, details) => [member(id, details), HERE]],
  ['member_removed', (id, details) => [member(id, details), GONE]],
  ['group_deleted', (id) => [`group ${id}`, GONE]],
  ['account_activated', (id) => [`user ${id}`, HERE]],
  ['account_deactivated', (id) => [`user ${id}`, GONE]],
]);

export const PROJECTED_EVENTS: readonly AuditEventName[] = [...SAID.keys()];
