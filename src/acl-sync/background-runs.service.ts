import { type BeforeApplicationShutdown, Injectable, type OnApplicationBootstrap, Optional } from '@nestjs/common';
import { Cron, SchedulerRegistry } from '@nestjs/schedule';
import { CronJob } from 'cron';
import { SnapshotStore } from '../grants/domain/snapshot-store.js';
import { Clock, Timers } from '../kernel/clock.js';
import { Log } from '../platform/log/log.js';
import { Settings } from '../platform/settings/settings.js';
import { AccessChangesService } from '../users/access-changes.service.js';
import { AclSyncService } from './acl-sync.service.js';
import { LIVE_WITHIN_MS } from './domain/engine-watch.js';
import { PublicationHistory } from './domain/publication-history.js';
import { restoreInEffect } from './domain/restore.js';
import { SyncLock } from './domain/run-ports.js';
import type { Probe } from './heartbeat.service.js';

export const SYNC_JOB = 'acl-sync';
/** Milliseconds that a run waits for another run to end, by trigger. A scheduled run does not wait, because the next one follows anyway. */
const LOCK_TIMEOUT_MS = { schedule: 0, change: 60_000, expiry: 60_000, rollback: 60_000 };
/** Interval between two readings of the next end of a grant or restore. Other processes may write an earlier end at any time. */
const MAX_INTERVAL_MS = 15_000;

/**
 * Starts runs without a request: by the schedule, some seconds after a change, when a grant or a restore ends, and when the engine fails
 * on its rules.
 */
@Injectable()
export class BackgroundRunsService implements Probe, OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly failureMessage = 'next expiry could not be read';
  private readonly stopController = new AbortController();
  private isChangeRunScheduled = false;
  private readonly subscriptions: (() => void)[] = [];
  /** Grants and restores that ended before this time need no further run. */
  private handledUntil: Date;
  private nextDueTime: Date | null = null;

  constructor(
    private readonly syncService: AclSyncService,
    private readonly changes: AccessChangesService,
    private readonly snapshots: SnapshotStore,
    private readonly history: PublicationHistory,
    private readonly timers: Timers,
    private readonly clock: Clock,
    private readonly log: Log,
    private readonly settings: Settings,
    @Optional() private readonly scheduler?: SchedulerRegistry,
  ) {
    this.handledUntil = clock.now();
  }

  onApplicationBootstrap(): void {
    const { enabled, cron, onChangeSeconds } = this.settings.acl.sync;
    if (!enabled) return;
    const onTick = (): Promise<void> => this.run('schedule');
    this.scheduler?.addCronJob(
      SYNC_JOB,
      CronJob.from({ cronTime: cron, onTick, waitForCompletion: true, start: true }),
    );
    if (onChangeSeconds > 0)
      this.subscriptions.push(this.changes.subscribe(() => this.scheduleChangeRun(onChangeSeconds)));
  }

  intervalMs(): number {
    const msUntilNextDue = (this.nextDueTime?.getTime() ?? Infinity) - this.clock.now().getTime();
    return Math.min(Math.max(msUntilNextDue, 0), MAX_INTERVAL_MS);
  }

  /** Makes a run for each end of a grant or restore that has passed, and reads the next end. */
  async probe(): Promise<void> {
    for (;;) {
      this.nextDueTime = null; // where reading fails: a time in the past would repeat the probe without a pause
      this.nextDueTime = await this.readNextDueTime();
      const now = this.clock.now();
      if (this.nextDueTime === null || this.nextDueTime > now) return;
      this.handledUntil = now;
      await this.run('expiry');
    }
  }

  /** Stops starting runs, and waits for the current one while the database is still connected. */
  async beforeApplicationShutdown(): Promise<void> {
    for (const unsubscribe of this.subscriptions) unsubscribe();
    this.stopController.abort();
    await this.syncService.beforeApplicationShutdown();
  }

  /** Publishes the rules in one run. Never throws: a failure is recorded, or logged if it cannot be recorded. */
  async run(trigger: keyof typeof LOCK_TIMEOUT_MS): Promise<void> {
    if (this.stopController.signal.aborted) return;
    const runOrder = { trigger, by: { actor: null, origin: null }, lockTimeoutMs: LOCK_TIMEOUT_MS[trigger] };
    await this.syncService.run(runOrder).catch((error: unknown) => {
      this.log.error('TRINO_ACL_SYNC_FAILED', { trigger, reason: 'internal', err: error });
    });
  }

  /** Schedules a run after a change. Further changes do not extend the delay, so that a stream of changes cannot postpone a revoke. */
  private scheduleChangeRun(seconds: number): void {
    if (this.isChangeRunScheduled) return;
    this.isChangeRunScheduled = true;
    this.timers.wait(seconds * 1000, this.stopController.signal).then(
      () => {
        this.isChangeRunScheduled = false;
        return this.run('change');
      },
      () => undefined,
    );
  }

  private async readNextDueTime(): Promise<Date | null> {
    const expiry = await this.snapshots.nextExpiry(this.handledUntil);
    const [published = null] = (await this.history.list({ limit: 1, after: null })).items;
    const { firstStepOf = null, publishedAt = null } = published ?? {};
    const firstStepLoadedAt = firstStepOf && publishedAt && new Date(publishedAt.getTime() + LIVE_WITHIN_MS + 1);
    const dueTimes = [expiry, restoreInEffect(published, this.handledUntil)?.until, firstStepLoadedAt]
      .flatMap((dueTime) => (dueTime instanceof Date && dueTime > this.handledUntil ? [dueTime] : []))
      .sort((a, b) => a.getTime() - b.getTime());
    return dueTimes[0] ?? null;
  }
}

const DAY_MS = 86_400_000;

/** Removes versions that are older than ACL_RETENTION_DAYS, unless they are among the newest ACL_RETENTION_VERSIONS or are still needed. */
@Injectable()
export class PublicationRetentionService {
  constructor(
    private readonly history: PublicationHistory,
    private readonly lock: SyncLock,
    private readonly clock: Clock,
    private readonly settings: Settings,
    private readonly log: Log,
  ) {}

  /** Removes versions in batches, each under the sync lock. No run restores a version during its removal, and no run waits for more than one batch. */
  @Cron('27 3 * * *', { name: 'publication-retention', waitForCompletion: true })
  async removePast(): Promise<void> {
    const { retentionDays, retentionVersions } = this.settings.acl;
    const retainedSince = new Date(this.clock.now().getTime() - retentionDays * DAY_MS);
    let removedCount = 0;
    for (let batchSize = Infinity; batchSize > 0;) {
      const lockResult = await this.lock.whileHeld(LOCK_TIMEOUT_MS.change, () =>
        this.history.removePast(retainedSince, retentionVersions),
      );
      batchSize = lockResult.kind === 'held' ? lockResult.result : 0;
      removedCount += batchSize;
    }
    this.log.info('removed past publications', {
      removed: removedCount,
      retention_days: retentionDays,
      retention_versions: retentionVersions,
    });
  }
}
