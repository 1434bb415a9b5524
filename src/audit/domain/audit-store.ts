import type { AuditEntry, AuditEvent, AuditEventName } from './audit-event.js';

export interface AuditFilter {
  event: AuditEventName | null;
  /** Who acted or was acted upon: an account's id, or its name in any case. */
  user: number | string | null;
  /** Inclusive. */
  from: Date | null;
  /** Exclusive. */
  to: Date | null;
}

/**
 * A point in the trail: of every event it is certain whether it may have been written later. Ordered by the database, because
 * the clocks of replicas differ. Opaque to everybody but the store.
 */
export type TrailPosition = string;

/** Where events are kept, append-only. */
export abstract class AuditStore {
  abstract append(entry: AuditEntry, at: Date): Promise<void>;
  /** Newest first, beginning below the id `after` (null: at the newest), at most `limit`. */
  abstract page(filter: AuditFilter, after: number | null, limit: number): Promise<AuditEvent[]>;
  abstract position(): Promise<TrailPosition>;
  /** Everything of these kinds that was not yet written at the position, and perhaps a little more; the oldest first. */
  abstract since(events: readonly AuditEventName[], from: TrailPosition): Promise<AuditEvent[]>;
  /** Removes what is older than so many days. @returns how many. */
  abstract removePast(retentionDays: number): Promise<number>;
}
