import { Injectable, Optional } from '@nestjs/common';
import { SchedulerRegistry } from '@nestjs/schedule';
import { AuditService } from '../audit/audit.service.js';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { refuseBroken } from '../grants/domain/guarantee.js';
import { GuaranteeStore } from '../grants/guarantee.store.js';
import { Clock } from '../kernel/clock.js';
import { Refused } from '../kernel/errors.js';
import { serialRunner } from '../kernel/promises.js';
import { Transaction } from '../platform/database/transaction.js';
import { GUARANTEE_BROKEN } from '../trino-rules/answers/guarantee-verdicts.js';
import { isRefusing } from '../trino-rules/model/guarantee.js';
import { AccessChangesService } from '../users/access-changes.service.js';
import { AclSyncService, RunReportsService, type RunResult } from './acl-sync.service.js';
import { SYNC_JOB } from './background-runs.service.js';
import { CandidateService } from './candidate.service.js';
import { PublicationHistory } from './domain/publication-history.js';
import { restoreInEffect } from './domain/restore.js';
import { RulesTarget } from './domain/rules-target.js';
import type { SyncStatus } from './domain/run-text.js';

const HOUR_MS = 3_600_000;
/** How long a restore waits for a run in progress. */
const LOCK_TIMEOUT_MS = 60_000;

/** The state of publishing, and administrators' decisions about published versions. */
@Injectable()
export class PublicationsService {
  /** Each judgement takes a process of its own. */
  private readonly judgeInTurn = serialRunner();

  constructor(
    private readonly sync: AclSyncService,
    private readonly candidates: CandidateService,
    private readonly history: PublicationHistory,
    private readonly reports: RunReportsService,
    private readonly target: RulesTarget,
    private readonly audit: AuditService,
    private readonly transaction: Transaction,
    private readonly changes: AccessChangesService,
    private readonly clock: Clock,
    private readonly guarantees: GuaranteeStore,
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
      target: this.target.name,
      guarantees: await this.guarantees.listAll(),
    };
  }

  private nextRunAt(): Date | null {
    if (this.scheduler?.doesExist('cron', SYNC_JOB) !== true) return null;
    return this.scheduler.getCronJob(SYNC_JOB).nextDate().toJSDate();
  }

  /**
   * Allows exactly this text to follow the current version. The next run, which starts soon, publishes it.
   * @throws Refused `guarantee_broken` if an enforced guarantee is broken now; `approval_not_awaited` if this text does not wait for an
   *   approval
   */
  async approve(hash: string, by: AuditContext): Promise<void> {
    await this.judgeInTurn(() => this.refuseBroken(hash));
    await this.transaction.run(async () => {
      const { last } = await this.history.summary();
      const waiting = last?.waiting?.hash;
      if (waiting !== hash) {
        const detail = waiting ? `Another text waits for an approval: ${waiting}.` : 'No text waits for an approval.';
        throw new Refused('approval_not_awaited', { detail });
      }
      await this.history.approve(hash, by.actor?.id ?? null, this.clock.now());
      await this.audit.record({ event: 'publication_approved', ...by, subject: null, details: { hash } });
    });
    this.changes.announce();
  }

  /** Judges what the next run would publish. A text that breaks a guarantee does not wait for an approval. */
  private async refuseBroken(hash: string): Promise<void> {
    const { last } = await this.history.summary();
    const isHeldBack = last?.reasons.some(({ code }) => code === GUARANTEE_BROKEN) === true;
    if (!isHeldBack && last?.waiting?.hash !== hash) return;
    if (!(await this.guarantees.listAll()).some(({ guarantee }) => isRefusing(guarantee))) return;
    const { candidate } = await this.candidates.prepare(await this.candidates.read(), null, null);
    refuseBroken(candidate.verdicts);
  }

  /**
   * Publishes an older version's text at once, for some hours. The run refuses a text that gives anything that the current grants deny.
   * @throws Refused `not_found` for a version that was never published
   */
  async restore(version: number, reason: string, hours: number, by: AuditContext): Promise<RunResult> {
    if ((await this.history.find(version)) === null) throw new Refused('not_found');
    const until = new Date(this.clock.now().getTime() + hours * HOUR_MS);
    const restore = { version, until, reason };
    return this.sync.run({ trigger: 'restore', by, lockTimeoutMs: LOCK_TIMEOUT_MS, restore });
  }

  /**
   * Ends the restore in effect, and publishes rules by the current grants.
   * @returns null: no restore is in effect
   */
  async endRestore(by: AuditContext): Promise<RunResult | null> {
    const latest = await this.history.latest();
    const restore = restoreInEffect(latest, this.clock.now());
    if (latest === null || restore === null) return null;
    await this.reports.recordRestoreEnd({ version: restore.version, publication: latest.version, how: 'hand' }, by);
    return this.sync.run({ trigger: 'restore', by, lockTimeoutMs: LOCK_TIMEOUT_MS });
  }
}
