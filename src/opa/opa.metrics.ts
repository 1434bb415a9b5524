import { Injectable } from '@nestjs/common';
import { type Gauge, Registry } from 'prom-client';
import { AclSyncMetrics } from '../acl-sync/acl-sync.metrics.js';
import type { Probe } from '../acl-sync/heartbeat.service.js';
import { EngineWatchService } from '../acl-sync/engine-watch.service.js';
import { PublicationsService } from '../acl-sync/publications.service.js';
import { gauge } from '../platform/operations/metrics.js';
import { Settings } from '../platform/settings/settings.js';
import { BundlesService } from './bundles.service.js';

/** Sets the gauges of OPA from the reports in the database, which other replicas record too. */
@Injectable()
export class OpaMetrics implements Probe {
  readonly failureMessage = 'gauges of OPA could not be refreshed';
  private readonly instanceGauge: Gauge<'state'>;
  private liveRevision: string | null = null;

  constructor(
    private readonly publications: PublicationsService,
    private readonly bundles: BundlesService,
    private readonly targetMetrics: AclSyncMetrics,
    private readonly engineWatch: EngineWatchService,
    private readonly settings: Settings,
    registry: Registry,
  ) {
    const help =
      'Instances of OPA that reported within five minutes: `live`, `behind` the newest version, or with an `error` of the bundle, also that it is older than `OPA_MAX_AGE_SECONDS`.';
    this.instanceGauge = gauge(registry, 'grantline_opa_instances', help, 'state');
  }

  intervalMs(): number {
    return 2_000;
  }

  async probe(): Promise<void> {
    const status = await this.publications.opaStatus();
    if (status === null) return;
    for (const state of ['live', 'behind', 'error'] as const)
      this.instanceGauge.set({ state }, status.instances.filter((each) => each.state === state).length);
    const { liveRevision, publishedRevision } = status;
    const isLive = liveRevision !== null && liveRevision === publishedRevision;
    const isEngineTarget = this.settings.acl.opa?.isFirst === true;
    // Before the first report no engine is known to ask OPA, for example before OPA is installed (docs/opa.md, the careful way over).
    const isReported = isEngineTarget || status.instances.length > 0;
    this.targetMetrics.setServedTarget('opa', isReported ? isLive : null, this.bundles.bytes);
    if (isLive && liveRevision !== this.liveRevision && isEngineTarget) await this.engineWatch.recordLive(liveRevision);
    this.liveRevision = liveRevision;
  }
}
