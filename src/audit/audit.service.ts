import { Injectable } from '@nestjs/common';
import { Clock } from '../kernel/clock.js';
import type { AuditEntry, AuditEvent } from './domain/audit-event.js';
import { type AuditFilter, AuditStore } from './domain/audit-store.js';

@Injectable()
export class AuditService {
  constructor(
    private readonly store: AuditStore,
    private readonly clock: Clock,
  ) {}

  /** Writes an event down. Waited for before the caller is answered: what could not be recorded is not confirmed. */
  async record(entry: AuditEntry): Promise<void> {
    await this.store.append(entry, this.clock.now());
  }

  /** Newest first; `after` is the id of the last event of the page before. */
  page(filter: AuditFilter, after: string | null, limit: number): Promise<AuditEvent[]> {
    return this.store.page(filter, after, limit);
  }
}
