import { type DynamicModule, Module } from '@nestjs/common';
import { AuditModule } from '../audit/audit.module.js';
import { AdmissionProof, SizeForecast } from '../grants/domain/admission-ports.js';
import { PublishedRules } from '../grants/domain/published-rules.js';
import { Log } from '../platform/log.js';
import type { Settings } from '../platform/settings.js';
import { QueryEngineModule } from '../query-engine/query-engine.module.js';
import { UsersModule } from '../users/users.module.js';
import { AclSyncController } from './acl-sync.controller.js';
import { aclSyncScheduler } from './acl-sync.scheduler.js';
import { ApprovalsService } from './approvals.service.js';
import { BackgroundRunsService } from './background-runs.service.js';
import { HistoryGaugesService } from './history-gauges.service.js';
import { SeparateAdmissionProof } from './infrastructure/separate-admission-proof.js';
import { LiveVersionService } from './live-version.service.js';
import { PublishedRulesService } from './published-rules.service.js';
import { PublishedSizeForecast } from './published-size-forecast.service.js';
import { PublishingModule } from './publishing.module.js';
import { RestoresService } from './restores.service.js';
import { TargetWatchService } from './target-watch.service.js';

/** Publishing in the service: scheduled, on changes and on request, with a check of what the engine uses. */
@Module({})
export class AclSyncModule {
  /** The settings decide whether there is a schedule, and its times. */
  static with(settings: Settings): DynamicModule {
    const { sync } = settings.acl;
    return {
      module: AclSyncModule,
      // Grants are an earlier module and see only the ports that this one provides.
      global: true,
      exports: [AdmissionProof, PublishedRules, SizeForecast],
      imports: [AuditModule, UsersModule, QueryEngineModule, PublishingModule.with(settings)],
      controllers: [AclSyncController],
      providers: [
        ApprovalsService,
        BackgroundRunsService,
        LiveVersionService,
        RestoresService,
        { provide: AdmissionProof, useFactory: (log: Log) => new SeparateAdmissionProof(log), inject: [Log] },
        HistoryGaugesService,
        TargetWatchService,
        { provide: PublishedRules, useClass: PublishedRulesService },
        { provide: SizeForecast, useClass: PublishedSizeForecast },
        ...(sync.enabled ? [aclSyncScheduler(sync.cron)] : []),
      ],
    };
  }
}
