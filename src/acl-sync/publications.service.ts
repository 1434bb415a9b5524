import { Injectable, Optional } from '@nestjs/common';
import { SchedulerRegistry } from '@nestjs/schedule';
import { AuditService } from '../audit/audit.service.js';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { refuseBrokenGuarantees } from '../grants/domain/guarantee.js';
import { GuaranteeStore } from '../grants/guarantee.store.js';
import { Clock } from '../kernel/clock.js';
import { Refused } from '../kernel/errors.js';
import { serialRunner } from '../kernel/promises.js';
import { Transaction } from '../platform/database/transaction.js';
import { Settings } from '../platform/settings/settings.js';
import { GUARANTEE_BROKEN } from '../trino-rules/answers/guarantee-verdicts.js';
import { canRefuse } from '../trino-rules/model/guarantee.js';
import { AccessChangesService } from '../users/access-changes.service.js';
import { AclSyncService, RunReportsService, type RunResult } from './acl-sync.service.js';
import { SYNC_JOB } from './background-runs.service.js';
import { CandidateService } from './candidate.service.js';
import { type OpaStatus, opaStatus } from './domain/opa-status.js';
import { PublicationHistory } from './domain/publication-history.js';
import { restoreInEffect } from './domain/restore.js';
import { RulesTargets } from './domain/rules-target.js';
import type { SyncStatus } from './domain/run-text.js';
import { revisionOf } from './domain/target-state.js';
import { OpaReportsStore } from './opa-reports.store.js';

const HOUR_MS = 3_600_000;
/** How long a restore waits for a run in progress. */
const LOCK_TIMEOUT_MS = 60_000;

/** The state of publishing, and administrators' decisions about published versions. */
@Injectable()
export class PublicationsService {
  /** Checks one text at a time before an approval, because each check starts a process. */
  private readonly judgeInTurn = serialRunner();

  constructor(
    private readonly syncService: AclSyncService,
    private readonly candidates: CandidateService,
    private readonly history: PublicationHistory,
    private readonly runReports: RunReportsService,
    private readonly targets: RulesTargets,
    private readonly audit: AuditService,
    private readonly transaction: Transaction,
    private readonly accessChanges: AccessChangesService,
    private readonly clock: Clock,
    private readonly guarantees: GuaranteeStore,
    private readonly opaReports: OpaReportsStore,
    private readonly settings: Settings,
    @Optional() private readonly scheduler?: SchedulerRegistry,
  ) {}

  async status(): Promise<SyncStatus> {
    const summary = await this.history.summary();
    const [published = null] = (await this.history.list({ limit: 1, after: null })).items;
    return {
      ...summary,
      nextRunAt: this.nextRunAt(),
      published,
      restore: restoreInEffect(published, this.clock.now()),
      targets: this.targets.all,
      engineTarget: this.targets.engineTargetKey,
      guarantees: await this.guarantees.listAll(),
      opa: await this.opaStatus(),
    };
  }

  /** The state of OPA; null: OPA is no target. */
  async opaStatus(): Promise<OpaStatus | null> {
    const { opa } = this.settings.acl;
    if (opa === null) return null;
    const version = await this.history.newestAccess();
    return opaStatus(await this.opaReports.read(), version && revisionOf(version), opa.maxAgeSeconds, this.clock.now());
  }

  private nextRunAt(): Date | null {
    if (this.scheduler?.doesExist('cron', SYNC_JOB) !== true) return null;
    return this.scheduler.getCronJob(SYNC_JOB).nextDate().toJSDate();
  }

  /**
   * Allows exactly the version with this `approvalHash` to follow the current one. The next run, which starts soon, publishes it.
   * @throws Refused `guarantee_broken` if an enforced guarantee is broken now; `approval_not_awaited` if this hash does not wait for an
   *   approval
   */
  async approve(hash: string, by: AuditContext): Promise<void> {
    await this.judgeInTurn(() => this.refuseBrokenRules(hash));
    await this.transaction.run(async () => {
      const { lastRun: last } = await this.history.summary();
      const awaitedHash = last?.waiting?.hash;
      if (awaitedHash !== hash) {
        const detail = awaitedHash
          ? `Another change waits for an approval: ${awaitedHash}.`
          : 'No change waits for an approval.';
        throw new Refused('approval_not_awaited', { detail });
      }
      await this.history.approve(hash, by.actor?.id ?? null, this.clock.now());
      await this.audit.record({ event: 'publication_approved', ...by, subject: null, details: { hash } });
    });
    this.accessChanges.announce();
  }

  /** Refuses the approval if the next rules break an enforced guarantee. */
  private async refuseBrokenRules(hash: string): Promise<void> {
    const { lastRun: last } = await this.history.summary();
    const isHeldBack = last?.reasons.some(({ code }) => code === GUARANTEE_BROKEN) === true;
    if (!isHeldBack && last?.waiting?.hash !== hash) return;
    if (!(await this.guarantees.listAll()).some(({ guarantee }) => canRefuse(guarantee))) return;
    const { candidate } = await this.candidates.prepare(await this.candidates.read(), null, null);
    refuseBrokenGuarantees(candidate.verdicts);
  }

  /**
   * Publishes an older version's text at once, for some hours. The run refuses a text that gives what is denied now.
   * @throws Refused `not_found` for a version that was never published
   */
  async restore(version: number, reason: string, hours: number, by: AuditContext): Promise<RunResult> {
    if ((await this.history.find(version)) === null) throw new Refused('not_found');
    const until = new Date(this.clock.now().getTime() + hours * HOUR_MS);
    const restore = { version, until, reason };
    return this.syncService.run({ trigger: 'restore', by, lockTimeoutMs: LOCK_TIMEOUT_MS, restore });
  }

  /**
   * Ends the restore in effect, and publishes rules by the current grants.
   * @returns null: no restore is in effect
   */
  async endRestore(by: AuditContext): Promise<RunResult | null> {
    const latest = await this.history.latest();
    const restore = restoreInEffect(latest, this.clock.now());
    if (latest === null || restore === null) return null;
    await this.runReports.recordRestoreEnd({ version: restore.version, publication: latest.version, how: 'hand' }, by);
    return this.syncService.run({ trigger: 'restore', by, lockTimeoutMs: LOCK_TIMEOUT_MS });
  }
}
