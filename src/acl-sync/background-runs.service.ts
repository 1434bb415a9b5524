import { type BeforeApplicationShutdown, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { AccessChangesService } from '../users/access-changes.service.js';
import { Clock } from '../kernel/clock.js';
import { Timers } from '../kernel/timers.js';
import { Log } from '../platform/log.js';
import { Settings } from '../platform/settings.js';
import { AclSyncService } from './acl-sync.service.js';

/** A change that another run may have missed waits for that run; the schedule comes again by itself. */
const PATIENCE_MS: Record<'schedule' | 'change' | 'expiry', number> = { schedule: 0, change: 60_000, expiry: 60_000 };
/** A timer holds no more than 31 bits of milliseconds. Whoever waits longer looks again after each run. */
const LONGEST_WAIT_MS = 2 ** 31 - 1;

/** The runs that nobody asks for: by the schedule, some seconds after a change, and when the next grant expires. */
@Injectable()
export class BackgroundRunsService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly stopping = new AbortController();
  private readonly running = new Set<Promise<void>>();
  private expiry = new AbortController();
  private changeIsNoted = false;
  private unsubscribe: (() => void) | null = null;

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
    if (enabled && onChangeSeconds > 0)
      this.unsubscribe = this.changes.subscribe(() => this.noteChange(onChangeSeconds));
  }

  /** A run that is under way is waited for while there still is a database; nothing new begins. */
  async beforeApplicationShutdown(): Promise<void> {
    this.unsubscribe?.();
    this.stopping.abort();
    await this.idle();
  }

  /** When no run is under way. */
  async idle(): Promise<void> {
    await Promise.all(this.running);
  }

  /** Never throws: a failed run is recorded, and what cannot be recorded is logged. */
  async run(trigger: keyof typeof PATIENCE_MS): Promise<void> {
    if (this.stopping.signal.aborted) return;
    const run = this.carryOut(trigger).catch((error: unknown) => {
      this.log.error('TRINO_ACL_SYNC_FAILED', { trigger, reason: 'internal', err: error });
    });
    this.running.add(run);
    await run;
    this.running.delete(run);
  }

  private async carryOut(trigger: keyof typeof PATIENCE_MS): Promise<void> {
    const by = { actor: null, origin: null };
    const result = await this.sync.run({ trigger, by, patienceMs: PATIENCE_MS[trigger] });
    if (result.kind === 'ended') this.waitForExpiry(result.nextExpiry);
  }

  /** Counts from the first change, so that a stream of changes cannot put a revoke off. */
  private noteChange(seconds: number): void {
    if (this.changeIsNoted) return;
    this.changeIsNoted = true;
    this.later('change', seconds * 1000, this.stopping.signal, () => (this.changeIsNoted = false));
  }

  private waitForExpiry(nextExpiry: Date | null): void {
    this.expiry.abort();
    if (nextExpiry === null) return;
    this.expiry = new AbortController();
    const wait = Math.min(Math.max(nextExpiry.getTime() - this.clock.now().getTime(), 0), LONGEST_WAIT_MS);
    this.later('expiry', wait, AbortSignal.any([this.expiry.signal, this.stopping.signal]), () => undefined);
  }

  private later(trigger: 'change' | 'expiry', ms: number, signal: AbortSignal, begins: () => void): void {
    this.timers.wait(ms, signal).then(
      () => {
        begins();
        return this.run(trigger);
      },
      () => undefined,
    );
  }
}
