import { type DynamicModule, Module } from '@nestjs/common';
import { AuditModule } from '../audit/audit.module.js';
import { SizeForecast } from '../grants/domain/size-forecast.js';
import { GrantsModule } from '../grants/grants.module.js';
import { Pace } from '../kernel/pace.js';
import { DatabaseUrl } from '../platform/database.js';
import { Log } from '../platform/log.js';
import type { Settings } from '../platform/settings.js';
import { QueryEngineModule } from '../query-engine/query-engine.module.js';
import { UsersModule } from '../users/users.module.js';
import { AclSyncController } from './acl-sync.controller.js';
import { AclSyncMetrics } from './acl-sync.metrics.js';
import { aclSyncScheduler } from './acl-sync.scheduler.js';
import { AclSyncService } from './acl-sync.service.js';
import { ApprovalsService } from './approvals.service.js';
import { BackgroundRunsService } from './background-runs.service.js';
import { CandidateService } from './candidate.service.js';
import { PublicationHistory } from './domain/publication-history.js';
import { RulesPreparer } from './domain/rules-preparer.js';
import { RulesTarget } from './domain/rules-target.js';
import { SyncLock } from './domain/sync-lock.js';
import { ConfigMapRulesTarget } from './infrastructure/configmap-rules-target.js';
import { FileRulesTarget } from './infrastructure/file-rules-target.js';
import { KubernetesApi } from './infrastructure/kubernetes-api.js';
import { PostgresPublicationHistory } from './infrastructure/postgres-publication-history.js';
import { PostgresSyncLock } from './infrastructure/postgres-sync-lock.js';
import { ThreadedRulesPreparer } from './infrastructure/threaded-rules-preparer.js';
import { LiveVersionService } from './live-version.service.js';
import { PreviewService } from './preview.service.js';
import { PublishedSizeForecast } from './published-size-forecast.service.js';
import { RunReportsService } from './run-reports.service.js';
import { StatusService } from './status.service.js';

/** Turning intent into proved rules, and publishing them. */
@Module({})
export class AclSyncModule {
  /** Settings decide whether there is a schedule, and when. */
  static with({ acl }: Settings): DynamicModule {
    return {
      module: AclSyncModule,
      // Grants come before this module and see the port alone.
      global: true,
      exports: [SizeForecast],
      imports: [AuditModule, UsersModule, GrantsModule, QueryEngineModule],
      controllers: [AclSyncController],
      providers: [
        AclSyncService,
        CandidateService,
        ApprovalsService,
        PreviewService,
        StatusService,
        BackgroundRunsService,
        LiveVersionService,
        RunReportsService,
        AclSyncMetrics,
        { provide: SizeForecast, useClass: PublishedSizeForecast },
        { provide: PublicationHistory, useClass: PostgresPublicationHistory },
        { provide: RulesPreparer, useFactory: () => new ThreadedRulesPreparer() },
        {
          provide: RulesTarget,
          useFactory: (pace: Pace, log: Log) => rulesTarget(acl.target, pace, log),
          inject: [Pace, Log],
        },
        { provide: SyncLock, useFactory: (url: DatabaseUrl) => new PostgresSyncLock(url), inject: [DatabaseUrl] },
        ...(acl.sync.enabled ? [aclSyncScheduler(acl.sync.cron)] : []),
      ],
    };
  }
}

function rulesTarget(target: Settings['acl']['target'], pace: Pace, log: Log): RulesTarget {
  if (target.kind === 'file') return new FileRulesTarget(target.directory, target.mode);
  const api = new KubernetesApi(target, 'grantline', pace);
  return new ConfigMapRulesTarget(api, target, log);
}
