import { type BeforeApplicationShutdown, Injectable, type OnApplicationBootstrap, Optional } from '@nestjs/common';
import { Cron, SchedulerRegistry } from '@nestjs/schedule';
import { CronJob } from 'cron';
import { SnapshotStore } from '../grants/domain/snapshot-store.js';
import { Clock, Timers } from '../kernel/clock.js';
import { Log } from '../platform/log/log.js';
import { Settings } from '../platform/settings/settings.js';
import { AccessChangesService } from '../users/access-changes.service.js';
import { AclSyncService } from './acl-sync.service.js';
import { PublicationHistory } from './domain/publication-history.js';
import { restoreInEffect } from './domain/restore.js';
import { SyncLock } from './domain/run-ports.js';
import type { Probe } from './heartbeat.service.js';

export const SYNC_JOB = 'acl-sync';
/** How long runs wait for the current one. It may have missed the change that they are for; a scheduled run recurs and need not wait. */
const LOCK_TIMEOUT_MS = { schedule: 0, change: 60_000, expiry: 60_000, rollback: 60_000 };
/** How often the next end of a grant or restore is read, because other processes may have written an earlier one. */
const ENDS_INTERVAL_MS = 15_000;

/**
 * Starts runs without a request: by the schedule, some seconds after a change, when a grant or a restore ends, and when the engine fails
 * on its rules.
 */
@Injectable()
export class BackgroundRunsService implements Probe, OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly failure = 'next expiry could not be read';
  private readonly stopping = new AbortController();
  private readonly running = new Set<Promise<unknown>>();
  private isChangeRunScheduled = false;
  private readonly subscriptions: (() => void)[] = [];
  /** Ends of grants and restores before this time have been published. */
  private since: Date;
  private nextEnd: Date | null = null;

  constructor(
    private readonly sync: AclSyncService,
    private readonly changes: AccessChangesService,
    private readonly snapshots: SnapshotStore,
    private readonly history: PublicationHistory,
    private readonly timers: Timers,
    private readonly clock: Clock,
    private readonly log: Log,
    private readonly settings: Settings,
    @Optional() private readonly scheduler?: SchedulerRegistry,
  ) {
    this.since = clock.now();
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

  interval(): number {
    const wait = (this.nextEnd?.getTime() ?? Infinity) - this.clock.now().getTime();
    return Math.min(Math.max(wait, 0), ENDS_INTERVAL_MS);
  }

  /** Makes a run for each end of a grant or restore that has passed, and reads the next end. */
  async probe(): Promise<void> {
    for (;;) {
      this.nextEnd = await this.firstEnd();
      const now = this.clock.now();
      if (this.nextEnd === null || this.nextEnd > now) return;
      this.since = now;
      await this.run('expiry');
    }
  }

  /** Stops starting runs, and waits for the current one while the database is still connected. */
  async beforeApplicationShutdown(): Promise<void> {
    for (const unsubscribe of this.subscriptions) unsubscribe();
    this.stopping.abort();
    await this.untilIdle();
  }

  /** Resolves when no run is in progress. */
  async untilIdle(): Promise<void> {
    await Promise.all(this.running);
  }

  /** Makes a run. Never throws: a failed run is recorded, or logged if it cannot be recorded. */
  async run(trigger: keyof typeof LOCK_TIMEOUT_MS): Promise<void> {
    if (this.stopping.signal.aborted) return;
    const order = { trigger, by: { actor: null, origin: null }, lockTimeoutMs: LOCK_TIMEOUT_MS[trigger] };
    const run = this.sync.run(order).catch((error: unknown) => {
      this.log.error('TRINO_ACL_SYNC_FAILED', { trigger, reason: 'internal', err: error });
    });
    this.running.add(run);
    await run;
    this.running.delete(run);
  }

  /** The delay counts from the first change, so that a stream of changes cannot postpone a revoke. */
  private scheduleChangeRun(seconds: number): void {
    if (this.isChangeRunScheduled) return;
    this.isChangeRunScheduled = true;
    this.timers.wait(seconds * 1000, this.stopping.signal).then(
      () => {
        this.isChangeRunScheduled = false;
        return this.run('change');
      },
      () => undefined,
    );
  }

  private async firstEnd(): Promise<Date | null> {
    const expiry = await this.snapshots.nextExpiry(this.since);
    const [published = null] = (await this.history.list({ limit: 1, after: null })).items;
    const restored = restoreInEffect(published, this.since)?.until ?? null;
    return expiry === null || (restored !== null && restored < expiry) ? restored : expiry;
  }
}

const DAY_MS = 86_400_000;

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

  /** Removes each batch between runs, so that no run restores a version that is being removed, or waits for more than one batch. */
  @Cron('27 3 * * *', { name: 'publication-retention', waitForCompletion: true })
  async removePast(): Promise<void> {
    const { retentionDays, retentionVersions } = this.settings.acl;
    const before = new Date(this.clock.now().getTime() - retentionDays * DAY_MS);
    let removed = 0;
    for (let batch = Infinity; batch > 0;) {
      const held = await this.lock.whileHeld(LOCK_TIMEOUT_MS.change, () =>
        this.history.removePast(before, retentionVersions),
      );
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
