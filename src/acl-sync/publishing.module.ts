import { Global, Injectable, Module, type OnApplicationBootstrap, type Provider } from '@nestjs/common';
import { AuditModule } from '../audit/audit.module.js';
import { AuthModule } from '../auth/auth.module.js';
import { AdmissionProof, PublishedRules, SizeForecast } from '../grants/domain/admission-ports.js';
import { GrantStoresModule } from '../grants/grants.module.js';
import { Timers } from '../kernel/clock.js';
import { DatabaseUrl } from '../platform/database/database.js';
import { Log } from '../platform/log/log.js';
import { Settings } from '../platform/settings/settings.js';
import { QueryEngineModule } from '../query-engine/query-engine.module.js';
import { PrincipalNames } from '../users/principal-names.store.js';
import { UsersModule } from '../users/users.module.js';
import { AclSyncController } from './acl-sync.controller.js';
import { AclSyncMetrics } from './acl-sync.metrics.js';
import { AclSyncService, RunReportsService } from './acl-sync.service.js';
import { BackgroundRunsService, PublicationRetentionService } from './background-runs.service.js';
import { CandidateService } from './candidate.service.js';
import { PublicationHistory } from './domain/publication-history.js';
import { RulesTarget } from './domain/rules-target.js';
import { RulesPreparer, SyncLock } from './domain/run-ports.js';
import { EngineWatchService } from './engine-watch.service.js';
import { HeartbeatService, type Probe, TargetProbe } from './heartbeat.service.js';
import { ConfigMapRulesTarget } from './infrastructure/configmap-rules-target.js';
import { FileRulesTarget } from './infrastructure/file-rules-target.js';
import { KubernetesApi } from './infrastructure/kubernetes-api.js';
import { PostgresPublicationHistory } from './infrastructure/postgres-publication-history.js';
import { PostgresSyncLock } from './infrastructure/postgres-sync-lock.js';
import { SeparateAdmissionProof, SeparateRulesPreparer } from './infrastructure/preparation-process.js';
import { PreviewService } from './preview.service.js';
import { PublicationsService } from './publications.service.js';
import { PublishedRulesService, PublishedSizeForecast } from './published-rules.service.js';

/** Claims the names of the service accounts in every process that publishes rules for them. */
@Injectable()
class ServiceAccountNames implements OnApplicationBootstrap {
  constructor(
    private readonly names: PrincipalNames,
    private readonly settings: Settings,
  ) {}

  /** Refuses to start if an account has the name of a service account, because its owner could act as that service on the engine. */
  async onApplicationBootstrap(): Promise<void> {
    const [held] = await this.names.claimForEngine(this.settings.acl.serviceAccounts);
    if (held === undefined) return;
    throw new Error(
      `ACL_SERVICE_ACCOUNTS names a service account that the ${held.holder === 'account' ? 'account' : 'engine principal'} ` +
        `'${held.name}' holds; a name has one holder. Take it out of the setting, or use another name.`,
    );
  }
}

const PROVIDERS: Provider[] = [
  ServiceAccountNames,
  AclSyncService,
  PublicationsService,
  CandidateService,
  PreviewService,
  TargetProbe,
  RunReportsService,
  AclSyncMetrics,
  { provide: PublicationHistory, useClass: PostgresPublicationHistory },
  { provide: RulesPreparer, useFactory: () => new SeparateRulesPreparer() },
  { provide: RulesTarget, useFactory: rulesTarget, inject: [Settings, Timers, Log] },
  { provide: AdmissionProof, useFactory: (log: Log) => new SeparateAdmissionProof(log), inject: [Log] },
  { provide: PublishedRules, useClass: PublishedRulesService },
  { provide: SizeForecast, useClass: PublishedSizeForecast },
  { provide: SyncLock, useFactory: (url: DatabaseUrl) => new PostgresSyncLock(url), inject: [DatabaseUrl] },
];

/**
 * The providers of a run, without schedules and watchers, so that neither the engine nor a signing key is needed. Global, because compiler,
 * proof, target and history implement ports of `grants`, which comes earlier in the order.
 */
@Global()
@Module({ imports: [AuditModule, UsersModule, GrantStoresModule], providers: PROVIDERS, exports: PROVIDERS })
export class PublishingModule {}

function rulesTarget({ acl: { target, fileMode } }: Settings, timers: Timers, log: Log): RulesTarget {
  if (target.kind === 'file') return new FileRulesTarget(target.directory, fileMode);
  return new ConfigMapRulesTarget(new KubernetesApi(target, timers), target, log);
}

type Four<T> = [T, T, T, T];

const heartbeat: Provider = {
  provide: HeartbeatService,
  inject: [Timers, Log, Settings, RunReportsService, TargetProbe, EngineWatchService, BackgroundRunsService],
  useFactory: (timers: Timers, log: Log, { engine, acl }: Settings, ...[reports, target, watch, runs]: Four<Probe>) =>
    new HeartbeatService(timers, log, [
      ...[reports, target],
      ...(engine.origin === null ? [] : [watch]),
      ...(acl.sync.enabled ? [runs] : []),
    ]),
};

/** Publishing in the service: scheduled, on changes and on request. Also checks which version the engine uses. */
@Module({
  imports: [AuditModule, AuthModule, UsersModule, GrantStoresModule, QueryEngineModule, PublishingModule],
  controllers: [AclSyncController],
  providers: [BackgroundRunsService, EngineWatchService, heartbeat, PublicationRetentionService],
})
export class AclSyncModule {}
