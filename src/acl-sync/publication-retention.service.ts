import { Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { Clock } from '../kernel/clock.js';
import { Log } from '../platform/log/log.js';
import { Settings } from '../platform/settings/settings.js';
import { PublicationHistory } from './domain/publication-history.js';
import { SyncLock } from './domain/sync-lock.js';

const DAY_MS = 86_400_000;
const LOCK_TIMEOUT_MS = 60_000;

/** Removes versions past ACL_RETENTION_DAYS and ACL_RETENTION_VERSIONS, by a function of the owner's role. */
@Injectable()
export class PublicationRetentionService {
  constructor(
    private readonly history: PublicationHistory,
    private readonly lock: SyncLock,
    private readonly clock: Clock,
    private readonly settings: Settings,
    private readonly log: Log,
  ) {}

  /** Between runs: none restores a version that is being removed, and none waits for more than one batch. */
  @Cron('27 3 * * *', { name: 'publication-retention', waitForCompletion: true })
  async removePast(): Promise<void> {
    const { retentionDays, retentionVersions } = this.settings.acl;
    const before = new Date(this.clock.now().getTime() - retentionDays * DAY_MS);
    let removed = 0;
    for (let batch = Infinity; batch > 0;) {
      const held = await this.lock.whileHeld(LOCK_TIMEOUT_MS, () => this.history.removePast(before, retentionVersions));
      batch = held.kind === 'held' ? held.result : 0;
      removed += batch;
    }
    this.log.info('removed past publications', {
      removed,
      retention_days: retentionDays,
      retention_versions: retentionVersions,
    });
  }
}
