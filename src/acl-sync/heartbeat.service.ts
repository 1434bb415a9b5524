import type { BeforeApplicationShutdown, OnApplicationBootstrap, Provider } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import { Timers } from '../kernel/clock.js';
import { Log } from '../platform/log/log.js';
import { Settings } from '../platform/settings/settings.js';
import { AclSyncMetrics } from './acl-sync.metrics.js';
import { BackgroundRunsService } from './background-runs.service.js';
import { PublicationHistory } from './domain/publication-history.js';
import { EngineWatchService } from './engine-watch.service.js';
import { type Probe, TargetProbe } from './target-probe.service.js';

/** Asks every probe again and again, each at its own intervals: a slow one delays no other, nor the start of the service. */
export class HeartbeatService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly stopping = new AbortController();
  private asking: Promise<void>[] = [];

  constructor(
    private readonly timers: Timers,
    private readonly log: Log,
    private readonly probes: readonly Probe[],
  ) {}

  onApplicationBootstrap(): void {
    this.asking = this.probes.map((probe) => this.keepAsking(probe));
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    await Promise.all(this.asking);
  }

  private async keepAsking(probe: Probe): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      await probe.ask(signal).catch((error: unknown) => {
        if (!signal.aborted) this.log.warn(probe.failure, { err: error });
      });
      await this.timers.wait(probe.interval(), signal).catch(() => undefined);
    }
  }
}

/** Sets this process's gauges from the history, which other replicas and commands write too. */
export function historyProbe(metrics: AclSyncMetrics, history: PublicationHistory, trail: AuditService): Probe {
  return {
    failure: 'publication gauges could not be refreshed',
    interval: () => 15_000,
    ask: () => metrics.showHistory(history, trail),
  };
}

export const heartbeat: Provider = {
  provide: HeartbeatService,
  inject: [
    ...[Timers, Log, Settings, AclSyncMetrics, PublicationHistory, AuditService],
    ...[TargetProbe, EngineWatchService, BackgroundRunsService],
  ],
  useFactory: (
    timers: Timers,
    log: Log,
    { engine, acl }: Settings,
    metrics: AclSyncMetrics,
    history: PublicationHistory,
    trail: AuditService,
    target: TargetProbe,
    watch: EngineWatchService,
    runs: BackgroundRunsService,
  ) =>
    new HeartbeatService(timers, log, [
      historyProbe(metrics, history, trail),
      target,
      ...(engine.origin === null ? [] : [watch]),
      ...(acl.sync.enabled ? [runs] : []),
    ]),
};
