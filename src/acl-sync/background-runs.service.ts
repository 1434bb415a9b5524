import { type BeforeApplicationShutdown, Injectable, type OnApplicationBootstrap, type Type } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { AccessChangesService } from '../users/access-changes.service.js';
import { Clock, Timers } from '../kernel/clock.js';
import { Log } from '../platform/log/log.js';
import { Settings } from '../platform/settings/settings.js';
import { AclSyncService } from './acl-sync.service.js';

/** A run for a change waits for the current run, which may have missed the change; a scheduled one does not, as it recurs. */
const LOCK_TIMEOUT_MS = { schedule: 0, change: 60_000, expiry: 60_000, rollback: 60_000 };
/** The longest delay of a Node timer (31 bits). A later end is scheduled again after each run. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Runs without a request: by the schedule, some seconds after a change, when the next grant or a restore ends, and when the
 * engine fails on its rules.
 */
@Injectable()
export class BackgroundRunsService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly stopping = new AbortController();
  private readonly running = new Set<Promise<void>>();
  /** Null: no run has read the next end yet. */
  private expiry: AbortController | null = null;
  private isChangeRunScheduled = false;
  private readonly subscriptions: (() => void)[] = [];

  constructor(
    private readonly sync: AclSyncService,
    private readonly changes: AccessChangesService,
    private readonly timers: Timers,
    private readonly clock: Clock,
    private readonly log: Log,
    private readonly settings: Settings,
  ) {}

  onApplicationBootstrap(): void {
    const { enabled, onChangeSeconds } = this.settings.acl.sync;
    if (!enabled) return;
    this.subscriptions.push(this.sync.subscribe((nextEnd) => this.waitForEnd(nextEnd)));
    if (onChangeSeconds > 0)
      this.subscriptions.push(this.changes.subscribe(() => this.scheduleChangeRun(onChangeSeconds)));
    this.waitForFirstEnd();
  }

  /** Starts no further run and waits for the current one while the database is still connected. */
  async beforeApplicationShutdown(): Promise<void> {
    for (const unsubscribe of this.subscriptions) unsubscribe();
    this.stopping.abort();
    await this.idle();
  }

  /** Resolves when no run is in progress. */
  async idle(): Promise<void> {
    await Promise.all(this.running);
  }

  /** Never throws: a failed run is recorded, or logged where it cannot be recorded. */
  async run(trigger: keyof typeof LOCK_TIMEOUT_MS): Promise<void> {
    if (this.stopping.signal.aborted) return;
    const run = this.runOnce(trigger).catch((error: unknown) => {
      this.log.error('TRINO_ACL_SYNC_FAILED', { trigger, reason: 'internal', err: error });
    });
    this.running.add(run);
    await run;
    this.running.delete(run);
  }

  private async runOnce(trigger: keyof typeof LOCK_TIMEOUT_MS): Promise<void> {
    const by = { actor: null, origin: null };
    await this.sync.run({ trigger, by, lockTimeoutMs: LOCK_TIMEOUT_MS[trigger] });
  }

  /** The delay counts from the first change, so that a stream of changes cannot postpone a revoke. */
  private scheduleChangeRun(seconds: number): void {
    if (this.isChangeRunScheduled) return;
    this.isChangeRunScheduled = true;
    this.runAfter('change', seconds * 1000, this.stopping.signal, () => (this.isChangeRunScheduled = false));
  }

  /** The first expiry can be before the first scheduled run, which plans it where the grants cannot be read now. */
  private waitForFirstEnd(): void {
    const reading = this.sync.nextEnd().then(
      (nextEnd) => {
        if (this.expiry === null) this.waitForEnd(nextEnd);
      },
      () => undefined,
    );
    this.running.add(reading);
    void reading.finally(() => this.running.delete(reading));
  }

  private waitForEnd(nextEnd: Date | null): void {
    this.expiry?.abort();
    this.expiry = new AbortController();
    if (nextEnd === null) return;
    const wait = Math.min(Math.max(nextEnd.getTime() - this.clock.now().getTime(), 0), MAX_TIMER_MS);
    this.runAfter('expiry', wait, AbortSignal.any([this.expiry.signal, this.stopping.signal]), () => undefined);
  }

  private runAfter(trigger: 'change' | 'expiry', ms: number, signal: AbortSignal, onStart: () => void): void {
    this.timers.wait(ms, signal).then(
      () => {
        onStart();
        return this.run(trigger);
      },
      () => undefined,
    );
  }
}

/** Of the scheduler. */
export const SYNC_JOB = 'acl-sync';

/** Decorators are evaluated before settings are read, so the class is made once the settings are known. */
export function aclSyncScheduler(cron: string): Type {
  @Injectable()
  class AclSyncScheduler {
    constructor(private readonly runs: BackgroundRunsService) {}

    @Cron(cron, { name: SYNC_JOB, waitForCompletion: true })
    run(): Promise<void> {
      return this.runs.run('schedule');
    }
  }
  return AclSyncScheduler;
}
