import type { AuditEntry } from '../../audit/domain/audit-event.js';

/** Who does something, and from where: what every audit event of a change begins with. */
export type Author = Pick<AuditEntry, 'actor' | 'origin'>;

export function authorOf(
  person: { id: number; username: string },
  client: { address: string; requestId: string },
): Author {
  return {
    actor: { id: person.id, username: person.username },
    origin: { address: client.address, requestId: client.requestId },
  };
}
