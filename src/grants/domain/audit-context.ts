import type { AuditEntry } from '../../audit/domain/audit-event.js';

/** Actor and origin of a change: the part that all its audit events share. */
export type AuditContext = Pick<AuditEntry, 'actor' | 'origin'>;

export function auditContextOf(
  user: { id: number; username: string },
  client: { address: string; requestId: string },
): AuditContext {
  return {
    actor: { id: user.id, username: user.username },
    origin: { address: client.address, requestId: client.requestId },
  };
}
