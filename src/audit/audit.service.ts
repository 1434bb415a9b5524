import { Injectable } from '@nestjs/common';
import { Clock } from '../kernel/clock.js';
import { type Page, pageOf, type PageRequest } from '../kernel/page.js';
import { Log } from '../platform/log.js';
import { Settings } from '../platform/settings.js';
import type { AuditEntry, AuditEvent, AuditEventName } from './domain/audit-event.js';
import { type AuditFilter, AuditStore, type TrailPosition } from './domain/audit-store.js';

@Injectable()
export class AuditService {
  constructor(
    private readonly store: AuditStore,
    private readonly clock: Clock,
    private readonly settings: Settings,
    private readonly log: Log,
  ) {}

  /** Writes an event down. Waited for before the caller is answered: what could not be recorded is not confirmed. */
  async record(entry: AuditEntry): Promise<void> {
    await this.store.append(entry, this.clock.now());
  }

  /** Removes what is older than AUDIT_RETENTION_DAYS, by the one function of the owner's role. */
  async removePast(): Promise<void> {
    const { retentionDays } = this.settings.audit;
    const removed = await this.store.removePast(retentionDays);
    this.log.info('removed past audit events', { removed, retention_days: retentionDays });
  }

  /** Where the trail is now: whatever is read after this call holds every change that `since` does not tell of. */
  position(): Promise<TrailPosition> {
    return this.store.position();
  }

  /** Everything of these kinds from a position on, the oldest first. */
  since(events: readonly AuditEventName[], from: TrailPosition): Promise<AuditEvent[]> {
    return this.store.since(events, from);
  }

  /** Newest first. */
  async page(filter: AuditFilter, { limit, after }: PageRequest): Promise<Page<AuditEvent>> {
    return pageOf(await this.store.page(filter, after, limit + 1), limit, (event) => event.id);
  }
}
