import type { AuditEntry, AuditEvent, AuditEventName } from './audit-event.js';

export interface AuditFilter {
  event: AuditEventName | null;
  /** The actor or the subject: an account's id, or its name in any case. */
  user: number | string | null;
  /** Inclusive. */
  from: Date | null;
  /** Exclusive. */
  to: Date | null;
}

/**
 * A point in the trail, ordered by the database, because the clocks of replicas differ. Opaque outside of the store.
 */
export type TrailPosition = string;

/** The audit trail, append-only. */
export abstract class AuditStore {
  abstract append(entry: AuditEntry, at: Date): Promise<void>;
  /** Newest first, beginning below the id `after` (null: at the newest), at most `limit`. */
  abstract page(filter: AuditFilter, after: number | null, limit: number): Promise<AuditEvent[]>;
  abstract position(): Promise<TrailPosition>;
  /** All events of these kinds since the position, and perhaps a few before it; the oldest first. */
  abstract since(events: readonly AuditEventName[], from: TrailPosition): Promise<AuditEvent[]>;
  /** Removes events that are older. @returns how many. */
  abstract removePast(retentionDays: number): Promise<number>;
}
