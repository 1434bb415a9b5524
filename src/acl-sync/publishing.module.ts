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
import { RulesTargets } from './domain/rules-target.js';
import { RulesPreparer, SyncLock } from './domain/run-ports.js';
import { EngineWatchService } from './engine-watch.service.js';
import { HeartbeatService, type Probe, TargetProbe } from './heartbeat.service.js';
import { ConfigMapRulesTarget } from './infrastructure/configmap-rules-target.js';
import { FileRulesTarget } from './infrastructure/file-rules-target.js';
import { KubernetesApi } from './infrastructure/kubernetes-api.js';
import { PostgresPublicationHistory } from './infrastructure/postgres-publication-history.js';
import { PostgresSyncLock } from './infrastructure/postgres-sync-lock.js';
import { SeparateAdmissionProof, SeparateRulesPreparer, KEPT_MS } from './infrastructure/preparation-process.js';
import { OpaReportsStore } from './opa-reports.store.js';
import { PreviewService } from './preview.service.js';
import { PublicationsService } from './publications.service.js';
import { PublishedRulesService, PublishedSizeForecast } from './published-rules.service.js';

@Injectable()
class ServiceAccountNames implements OnApplicationBootstrap {
  constructor(
    private readonly names: PrincipalNames,
    private readonly settings: Settings,
  ) {}

  /** Refuses to start if an account has the name of a service account, because its owner could act as that service on the engine. */
  async onApplicationBootstrap(): Promise<void> {
    const [held] = await this.names.claimEngineNames(this.settings.acl.serviceAccounts);
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
  {
    provide: RulesPreparer,
    useFactory: ({ acl: { opa } }: Settings) => new SeparateRulesPreparer(opa === null ? 0 : KEPT_MS),
    inject: [Settings],
  },
  { provide: RulesTargets, useFactory: rulesTargets, inject: [Settings, Timers, Log] },
  {
    provide: AdmissionProof,
    useFactory: (log: Log, { artefacts }: RulesTargets) => new SeparateAdmissionProof(log, artefacts),
    inject: [Log, RulesTargets],
  },
  OpaReportsStore,
  { provide: PublishedRules, useClass: PublishedRulesService },
  { provide: SizeForecast, useClass: PublishedSizeForecast },
  { provide: SyncLock, useFactory: (url: DatabaseUrl) => new PostgresSyncLock(url), inject: [DatabaseUrl] },
];

/**
 * The providers of a publishing run. Commands import only this module, because AclSyncModule needs an engine and a signing key.
 * Global, because `grants` uses some of the providers.
 */
@Global()
@Module({ imports: [AuditModule, UsersModule, GrantStoresModule], providers: PROVIDERS, exports: PROVIDERS })
export class PublishingModule {}

function rulesTargets({ acl: { targets, fileMode, opa }, engine }: Settings, timers: Timers, log: Log): RulesTargets {
  const adapters = targets.map((target) =>
    target.kind === 'file'
      ? new FileRulesTarget(target.directory, fileMode)
      : new ConfigMapRulesTarget(new KubernetesApi(target, timers), target, log),
  );
  const isProbed = engine.origin !== null && opa === null && adapters.length === 1;
  return new RulesTargets(adapters, opa !== null, opa?.isFirst === true ? 'opa' : adapters[0]?.key, isProbed);
}

type Four<T> = [T, T, T, T];

const heartbeat: Provider = {
  provide: HeartbeatService,
  inject: [Timers, Log, Settings, RunReportsService, TargetProbe, EngineWatchService, BackgroundRunsService],
  useFactory: (timers: Timers, log: Log, { engine, acl }: Settings, ...[reports, target, watch, runs]: Four<Probe>) =>
    new HeartbeatService(timers, log, [
      ...[reports, target],
      ...(engine.origin === null || acl.opa?.isFirst === true ? [] : [watch]),
      ...(acl.sync.enabled ? [runs] : []),
    ]),
};

/** Publishing in the service: scheduled, on changes and on request. Also checks which version the engine uses. */
@Module({
  imports: [AuditModule, AuthModule, UsersModule, GrantStoresModule, QueryEngineModule, PublishingModule],
  controllers: [AclSyncController],
  providers: [BackgroundRunsService, EngineWatchService, heartbeat, PublicationRetentionService],
  exports: [EngineWatchService],
})
export class AclSyncModule {}
