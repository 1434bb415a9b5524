import { type BeforeApplicationShutdown, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock } from '../kernel/clock.js';
import { Timers } from '../kernel/timers.js';
import { HealthRegistry } from '../platform/health.js';
import { Log } from '../platform/log.js';
import { Settings } from '../platform/settings.js';
import { EngineProbe } from '../query-engine/engine-probe.service.js';
import { AclSyncMetrics } from './acl-sync.metrics.js';
import type { PublicationSummary } from './domain/publication.js';
import { PublicationHistory } from './domain/publication-history.js';

const CHECK_INTERVAL_MS = 2_000;
/** The engine can read a file while it is replaced, so one broken answer is not an error yet. */
const BROKEN_THRESHOLD = 3;

/**
 * After a publication by any process, asks the engine whether it uses that version, until it does (access-model.md, section 2,
 * "Which version is live").
 */
@Injectable()
export class LiveVersionService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly stopping = new AbortController();
  private watching: Promise<void> = Promise.resolve();
  private brokenTimes = 0;

  constructor(
    private readonly history: PublicationHistory,
    private readonly probe: EngineProbe,
    private readonly metrics: AclSyncMetrics,
    private readonly timers: Timers,
    private readonly clock: Clock,
    private readonly log: Log,
    private readonly settings: Settings,
    health: HealthRegistry,
  ) {
    if (settings.engine.origin === null) return;
    health.register('rules', () => Promise.resolve(this.isBroken ? 'degraded' : 'up'));
  }

  onApplicationBootstrap(): void {
    if (this.settings.engine.origin !== null) this.watching = this.watch();
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    await this.watching;
  }

  /** Asks the engine once whether it uses the last published version; asks nothing when that is already confirmed. */
  async check(): Promise<void> {
    const [latest] = (await this.history.list({ limit: 1, after: null })).items;
    if (latest?.liveAt !== null) {
      this.countBroken(0);
      return;
    }
    const inForce = await this.probe.rulesInForce(`grantline_rules_${latest.hash}`);
    this.countBroken(inForce === 'broken' ? this.brokenTimes + 1 : 0);
    if (this.brokenTimes === BROKEN_THRESHOLD) {
      this.log.error('TRINO_ACL_RULES_BROKEN', { version: latest.version, hash: latest.hash });
    }
    if (inForce === 'these') await this.confirm(latest);
  }

  private get isBroken(): boolean {
    return this.brokenTimes >= BROKEN_THRESHOLD;
  }

  private countBroken(times: number): void {
    this.brokenTimes = times;
    this.metrics.showBroken(this.isBroken);
  }

  private async confirm({ version, hash, changedAt, publishedAt }: PublicationSummary): Promise<void> {
    const now = this.clock.now();
    await this.history.markLive(version, now);
    const seconds = (now.getTime() - (changedAt ?? publishedAt).getTime()) / 1000;
    this.metrics.wentLive(seconds);
    this.log.info('TRINO_ACL_RULES_LIVE', { version, hash, seconds });
  }

  private watch(): Promise<void> {
    return this.timers.every(CHECK_INTERVAL_MS, this.stopping.signal, () =>
      this.check().catch((error: unknown) => this.log.warn('live version check failed', { err: error })),
    );
  }
}
