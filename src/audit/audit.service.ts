import { Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { Clock } from '../kernel/clock.js';
import { type Page, pageOf, type PageRequest } from '../kernel/page.js';
import { Log } from '../platform/log/log.js';
import { Settings } from '../platform/settings/settings.js';
import { AuditStore } from './audit.store.js';
import {
  type AuditEntry,
  type AuditEvent,
  type AuditEventName,
  type AuditFilter,
  type TrailPosition,
} from './domain/audit-event.js';

/** Events per query of `readAll`. */
const EVENTS_PER_QUERY = 1000;

@Injectable()
export class AuditService {
  constructor(
    private readonly store: AuditStore,
    private readonly clock: Clock,
    private readonly settings: Settings,
    private readonly log: Log,
  ) {}

  /** Stores an event. Callers await it before they answer, so that no change is confirmed without its record. */
  async record(entry: AuditEntry): Promise<void> {
    await this.recordAll([entry]);
  }

  /** Stores several events, in this order. */
  async recordAll(entries: readonly AuditEntry[]): Promise<void> {
    await this.store.append(entries, this.clock.now());
  }

  /** Removes events older than AUDIT_RETENTION_DAYS, by a database function that runs as the owner of the tables. */
  @Cron('17 3 * * *', { name: 'audit-retention', waitForCompletion: true })
  async removeExpired(): Promise<void> {
    const { retentionDays } = this.settings.audit;
    const removedCount = await this.store.removeExpired(retentionDays);
    this.log.info('removed past audit events', { removed: removedCount, retention_days: retentionDays });
  }

  /** The current end of the trail. Data that is read after this call lacks only changes whose events come after this position. */
  endPosition(): Promise<TrailPosition> {
    return this.store.endPosition();
  }

  /** All events with these names from a position on, the oldest first. */
  eventsSince(events: readonly AuditEventName[], from: TrailPosition): Promise<AuditEvent[]> {
    return this.store.eventsSince(events, from);
  }

  /** When the event was last recorded; null: never, or more than AUDIT_RETENTION_DAYS ago. */
  async lastTimeOf(event: AuditEventName): Promise<Date | null> {
    const [last] = await this.store.page({ event }, null, 1);
    return last?.at ?? null;
  }

  /** A page of events, the newest first. */
  async page(filter: AuditFilter, { limit, after }: PageRequest): Promise<Page<AuditEvent>> {
    return pageOf(await this.store.page(filter, after, limit + 1), limit, (event) => event.id);
  }

  /** All events, the newest first, read from the database as the caller consumes them. */
  async *readAll(filter: AuditFilter): AsyncGenerator<AuditEvent[], void, undefined> {
    for (let after: number | null = null; ;) {
      const events: AuditEvent[] = await this.store.page(filter, after, EVENTS_PER_QUERY);
      if (events.length > 0) yield events;
      after = events.at(-1)?.id ?? null;
      if (events.length < EVENTS_PER_QUERY) return;
    }
  }
}
