import { Module } from '@nestjs/common';
import { HeartbeatService, type Probe } from '../acl-sync/heartbeat.service.js';
import { AclSyncModule } from '../acl-sync/publishing.module.js';
import { GrantStoresModule } from '../grants/grants.module.js';
import { Timers } from '../kernel/clock.js';
import { Log } from '../platform/log/log.js';
import { Settings } from '../platform/settings/settings.js';
import { BundleSource } from './bundle-source.js';
import { BundlesService } from './bundles.service.js';
import { CanaryService } from './canary.service.js';
import { DecisionLogService } from './decision-log.service.js';
import { OpaMetrics } from './opa.metrics.js';
import { OpaRoutes } from './opa-routes.js';

type Triple<T> = [T, T, T];

/** Decisions by OPA: serves the published access as a bundle, and finds out by which version OPA and the engine decide. */
@Module({
  imports: [AclSyncModule, GrantStoresModule],
  providers: [
    OpaRoutes,
    BundlesService,
    CanaryService,
    DecisionLogService,
    OpaMetrics,
    BundleSource,
    {
      provide: HeartbeatService,
      inject: [Timers, Log, Settings, BundlesService, OpaMetrics, CanaryService],
      useFactory: (timers: Timers, log: Log, { engine, acl }: Settings, ...[bundles, metrics, canary]: Triple<Probe>) =>
        new HeartbeatService(timers, log, [
          bundles,
          metrics,
          ...(engine.origin === null || acl.opa?.isFirst !== true ? [] : [canary]),
        ]),
    },
  ],
})
export class OpaModule {}
