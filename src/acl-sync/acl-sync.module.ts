import { type DynamicModule, Module } from '@nestjs/common';
import { AuditModule } from '../audit/audit.module.js';
import { AuthModule } from '../auth/auth.module.js';
import type { Settings } from '../platform/settings/settings.js';
import { QueryEngineModule } from '../query-engine/query-engine.module.js';
import { UsersModule } from '../users/users.module.js';
import { AclSyncController } from './acl-sync.controller.js';
import { aclSyncScheduler, BackgroundRunsService } from './background-runs.service.js';
import { HistoryGaugesService } from './history-gauges.service.js';
import { EngineWatchService } from './engine-watch.service.js';
import { PublicationRetentionService } from './publication-retention.service.js';
import { TargetWatchService } from './target-watch.service.js';

/** Publishing in the service: scheduled, on changes and on request, with a check of what the engine uses. */
@Module({})
export class AclSyncModule {
  /** The settings decide whether there is a schedule, and its times. */
  static with({ acl: { sync } }: Settings, publishing: DynamicModule): DynamicModule {
    return {
      module: AclSyncModule,
      imports: [AuditModule, AuthModule, UsersModule, QueryEngineModule, publishing],
      controllers: [AclSyncController],
      providers: [
        BackgroundRunsService,
        EngineWatchService,
        PublicationRetentionService,
        HistoryGaugesService,
        TargetWatchService,
        ...(sync.enabled ? [aclSyncScheduler(sync.cron)] : []),
      ],
    };
  }
}
