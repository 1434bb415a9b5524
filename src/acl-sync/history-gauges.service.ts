import { type BeforeApplicationShutdown, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import { Timers } from '../kernel/clock.js';
import { Log } from '../platform/log/log.js';
import { AclSyncMetrics } from './acl-sync.metrics.js';
import { PublicationHistory } from './domain/publication-history.js';

const REFRESH_INTERVAL_MS = 15_000;

/** Sets this process's gauges from the history, at the start and every 15 s: other replicas and commands write it too. */
@Injectable()
export class HistoryGaugesService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly stopping = new AbortController();
  private reading: Promise<void> = Promise.resolve();

  constructor(
    private readonly history: PublicationHistory,
    private readonly trail: AuditService,
    private readonly metrics: AclSyncMetrics,
    private readonly timers: Timers,
    private readonly log: Log,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.refresh();
    this.reading = this.timers.every(REFRESH_INTERVAL_MS, this.stopping.signal, () => this.refresh());
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    await this.reading;
  }

  /** Where the history cannot be read, the gauges keep their values. */
  private async refresh(): Promise<void> {
    try {
      await this.metrics.showHistory(this.history, this.trail);
    } catch (error) {
      this.log.warn('publication gauges could not be refreshed', { err: error });
    }
  }
}
