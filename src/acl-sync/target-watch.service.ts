import { type BeforeApplicationShutdown, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { type Gauge, Registry } from 'prom-client';
import { Timers } from '../kernel/clock.js';
import { HealthRegistry } from '../platform/operations/health.js';
import { Log } from '../platform/log/log.js';
import { gauge } from '../platform/operations/metrics.js';
import { PublicationHistory } from './domain/publication-history.js';
import { RulesTarget } from './domain/rules-target.js';
import { type TargetCheck, TargetProbe } from './target-probe.service.js';

const CHECK_INTERVAL_MS = { well: 60_000, degraded: 10_000 };

/**
 * Checks the rules target at the start, every minute, and more often until a failure is over, for health and metrics, also where
 * another process publishes.
 */
@Injectable()
export class TargetWatchService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly stopping = new AbortController();
  private watching: Promise<void> = Promise.resolve();
  private latest: { result: TargetCheck; isForeign: boolean; at: number } | null = null;
  private readonly available: Gauge;

  constructor(
    private readonly checks: TargetProbe,
    private readonly target: RulesTarget,
    private readonly history: PublicationHistory,
    private readonly timers: Timers,
    private readonly log: Log,
    health: HealthRegistry,
    registry: Registry,
  ) {
    health.register(
      'target',
      () => Promise.resolve(this.isWell() ? 'up' : 'degraded'),
      () => (this.latest === null ? null : (this.timers.now() - this.latest.at) / 1000),
    );
    const help = 'Whether the rules target could be read and written when it was last checked (1) or not (0).';
    this.available = gauge(registry, 'grantline_acl_target_available', help);
    this.available.set(Number.NaN); // unknown until the first check
  }

  /** The service starts without waiting for the target. */
  onApplicationBootstrap(): void {
    this.watching = this.watch();
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    await this.watching;
  }

  private async watch(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      await this.look();
      const interval = this.isWell() ? CHECK_INTERVAL_MS.well : CHECK_INTERVAL_MS.degraded;
      await this.timers.wait(interval, signal).catch(() => undefined);
    }
  }

  private isWell(): boolean {
    return this.latest === null || (this.latest.result === 'available' && !this.latest.isForeign);
  }

  /** Whether the live text is not the published one. Asked twice, because a run may be publishing. */
  private async isForeign(signal: AbortSignal): Promise<boolean> {
    const differs = async (): Promise<boolean> => {
      const { text } = await this.target.read(signal);
      const published = await this.history.latest();
      return published !== null && published.text !== text;
    };
    return (await differs()) && (await differs());
  }

  private async look(): Promise<void> {
    const { signal } = this.stopping;
    try {
      const result = await this.checks.check(signal);
      const isForeign = result === 'available' && (await this.isForeign(signal));
      this.latest = { result, isForeign, at: this.timers.now() };
      this.available.set(result === 'available' ? 1 : 0);
    } catch (error) {
      if (!signal.aborted) this.log.warn('rules target check failed', { err: error });
    }
  }
}
