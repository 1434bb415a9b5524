import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { AuditModule } from '../audit/audit.module.js';
import { AdmissionProof, SizeForecast } from '../grants/domain/admission-ports.js';
import { PublishedRules } from '../grants/domain/published-rules.js';
import { GrantStoresModule } from '../grants/grant-stores.module.js';
import { Timers } from '../kernel/clock.js';
import { DatabaseUrl } from '../platform/database/database.js';
import { Log } from '../platform/log/log.js';
import type { Settings } from '../platform/settings/settings.js';
import { UsersModule } from '../users/users.module.js';
import { AclSyncMetrics } from './acl-sync.metrics.js';
import { AclSyncService } from './acl-sync.service.js';
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
import { SeparateAdmissionProof } from './infrastructure/separate-admission-proof.js';
import { SeparateRulesPreparer } from './infrastructure/separate-rules-preparer.js';
import { PreviewService } from './preview.service.js';
import { PublicationsService } from './publications.service.js';
import { PublishedRulesService } from './published-rules.service.js';
import { PublishedSizeForecast } from './published-size-forecast.service.js';
import { RunReportsService } from './run-reports.service.js';
import { ServiceAccountNames } from './service-account-names.service.js';
import { TargetProbe } from './target-probe.service.js';

/**
 * The providers of a run, without schedules and watchers: needs neither the engine nor a signing key. Also the ports of `grants`
 * that compiler, proof, target and history implement.
 */
@Module({})
export class PublishingModule {
  static with({ acl }: Settings): DynamicModule {
    const providers: Provider[] = [
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
      {
        provide: RulesTarget,
        useFactory: (timers: Timers, log: Log) => rulesTarget(acl, timers, log),
        inject: [Timers, Log],
      },
      { provide: AdmissionProof, useFactory: (log: Log) => new SeparateAdmissionProof(log), inject: [Log] },
      { provide: PublishedRules, useClass: PublishedRulesService },
      { provide: SizeForecast, useClass: PublishedSizeForecast },
      { provide: SyncLock, useFactory: (url: DatabaseUrl) => new PostgresSyncLock(url), inject: [DatabaseUrl] },
    ];
    return {
      module: PublishingModule,
      imports: [AuditModule, UsersModule, GrantStoresModule],
      providers,
      exports: providers,
    };
  }
}

function rulesTarget({ target, fileMode }: Settings['acl'], timers: Timers, log: Log): RulesTarget {
  if (target.kind === 'file') return new FileRulesTarget(target.directory, fileMode);
  const api = new KubernetesApi(target, timers);
  return new ConfigMapRulesTarget(api, target, log);
}
