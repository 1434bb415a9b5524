import { Injectable } from '@nestjs/common';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { Clock } from '../kernel/clock.js';
import { Refused } from '../kernel/errors.js';
import { AclSyncService, type RunResult } from './acl-sync.service.js';
import { PublicationHistory } from './domain/publication-history.js';
import { lastingRestore } from './domain/restore.js';
import { RunReportsService } from './run-reports.service.js';

const HOUR_MS = 3_600_000;
/** How long a run that is under way is waited for. */
const LOCK_TIMEOUT_MS = 60_000;

/** Restores an older version for some hours, in place of what the current grants say. */
@Injectable()
export class RestoresService {
  constructor(
    private readonly sync: AclSyncService,
    private readonly history: PublicationHistory,
    private readonly reports: RunReportsService,
    private readonly clock: Clock,
  ) {}

  /**
   * Publishes that version's text at once; refused by the run where it gives anything that the current grants deny.
   * @throws Refused `not_found` for a version that was never published
   */
  async restore(version: number, reason: string, hours: number, by: AuditContext): Promise<RunResult> {
    if ((await this.history.find(version)) === null) throw new Refused('not_found');
    const until = new Date(this.clock.now().getTime() + hours * HOUR_MS);
    return this.sync.run({
      trigger: 'restore',
      by,
      lockTimeoutMs: LOCK_TIMEOUT_MS,
      restore: { version, until, reason },
    });
  }

  /**
   * Ends the restore in effect, and publishes what the current grants say.
   * @returns null: no restore lasts
   */
  async end(by: AuditContext): Promise<RunResult | null> {
    const latest = await this.history.latest();
    const restore = lastingRestore(latest, this.clock.now());
    if (latest === null || restore === null) return null;
    await this.reports.recordEnd({ version: restore.version, publication: latest.version, how: 'hand' }, by);
    return this.sync.run({ trigger: 'restore', by, lockTimeoutMs: LOCK_TIMEOUT_MS });
  }
}
