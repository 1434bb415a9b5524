import type { AuditEntry } from '../../audit/domain/audit-event.js';

/** Who does something, and from where: what every audit event of a change begins with. */
export type AuditContext = Pick<AuditEntry, 'actor' | 'origin'>;

export function auditContextOf(
  person: { id: number; username: string },
  client: { address: string; requestId: string },
): AuditContext {
  return {
    actor: { id: person.id, username: person.username },
    origin: { address: client.address, requestId: client.requestId },
  };
}
