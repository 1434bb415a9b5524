import { type BeforeApplicationShutdown, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Timers } from '../kernel/clock.js';
import type { LogMarker } from '../kernel/log-marker.js';
import { Log } from '../platform/log/log.js';
import { HealthRegistry } from '../platform/operations/health.js';
import { AclSyncMetrics } from './acl-sync.metrics.js';
import { PublicationHistory } from './domain/publication-history.js';
import { RulesTarget, RulesTargetUnavailable, type TargetFailure } from './domain/rules-target.js';

/** Repeats every probe at its own intervals. A slow one delays neither others nor the start of the service. */
export class HeartbeatService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly stopping = new AbortController();
  private asking: Promise<void>[] = [];

  constructor(
    private readonly timers: Timers,
    private readonly log: Log,
    private readonly probes: readonly Probe[],
  ) {}

  onApplicationBootstrap(): void {
    this.asking = this.probes.map((probe) => this.repeatProbe(probe));
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    await Promise.all(this.asking);
  }

  private async repeatProbe(probe: Probe): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      await probe.probe(signal).catch((error: unknown) => {
        if (!signal.aborted) this.log.warn(probe.failure, { err: error });
      });
      await this.timers.wait(probe.interval(), signal).catch(() => undefined);
    }
  }
}

/** A check that `HeartbeatService` repeats as long as the service runs. */
export interface Probe {
  /** Logged when the check fails. */
  readonly failure: LogMarker;
  /** Milliseconds until the next check. */
  interval(): number;
  probe(signal: AbortSignal): Promise<void>;
}

/** `denied`: rights are missing. */
type TargetCheck = 'available' | 'denied' | TargetFailure;

const CHECK_MS = 20_000;
const INTERVAL_MS = { well: 60_000, degraded: 10_000 };

/** Checks whether the rules target can be read and written, and has the published rules. */
@Injectable()
export class TargetProbe implements Probe {
  readonly failure = 'rules target check failed';
  private last: TargetCheck = 'available';
  private asked: { isWell: boolean; at: number } | null = null;

  constructor(
    private readonly target: RulesTarget,
    private readonly history: PublicationHistory,
    private readonly metrics: AclSyncMetrics,
    private readonly timers: Timers,
    private readonly log: Log,
    health: HealthRegistry,
  ) {
    const age = (): number | null => this.asked && (timers.now() - this.asked.at) / 1000;
    health.register('target', () => Promise.resolve(this.asked?.isWell === false ? 'degraded' : 'up'), age);
  }

  async probe(signal: AbortSignal): Promise<void> {
    const result = await this.check(signal);
    const isWell = result === 'available' && !(await this.isForeign(signal));
    this.asked = { isWell, at: this.timers.now() };
    this.metrics.showTarget(result === 'available');
  }

  interval(): number {
    return INTERVAL_MS[this.asked?.isWell === false ? 'degraded' : 'well'];
  }

  /** Logs a failed check, unless the check before it failed for the same reason. @throws when the signal is aborted */
  async check(signal?: AbortSignal): Promise<TargetCheck> {
    const timeout = AbortSignal.timeout(CHECK_MS);
    const before = this.last;
    try {
      const access = await this.target.checkAccess(signal === undefined ? timeout : AbortSignal.any([signal, timeout]));
      this.last = access.kind === 'granted' ? 'available' : 'denied';
      if (access.kind === 'denied' && before !== 'denied') {
        const { missing, identity } = access;
        this.log.error('TRINO_ACL_TARGET_DENIED', { target: this.target.name, missing, identity });
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof RulesTargetUnavailable)) throw error;
      const { reason, message, auditId } = error;
      this.last = reason;
      if (reason !== before) {
        this.log.warn(this.failure, { target: this.target.name, reason, message, audit_id: auditId });
      }
    }
    return this.last;
  }

  /** Whether the live text differs from the published one. Read twice, because a run may be publishing. */
  private async isForeign(signal: AbortSignal): Promise<boolean> {
    const differs = async (): Promise<boolean> => {
      const { text } = await this.target.read(signal);
      const published = await this.history.latest();
      return published !== null && published.text !== text;
    };
    return (await differs()) && (await differs());
  }
}
