import { Injectable, Optional } from '@nestjs/common';
import { SchedulerRegistry } from '@nestjs/schedule';
import { Clock } from '../kernel/clock.js';
import type { Page, PageRequest } from '../kernel/page.js';
import { SYNC_JOB } from './background-runs.service.js';
import type { HistoryPage } from './domain/history-position.js';
import type { PastRun, Publication, PublicationSummary } from './domain/publication.js';
import { PublicationHistory } from './domain/publication-history.js';
import { lastingRestore } from './domain/restore.js';
import { RulesTarget } from './domain/rules-target.js';
import type { SyncStatus } from './domain/status-form.js';

/** The state of publishing, and the published versions. */
@Injectable()
export class StatusService {
  constructor(
    private readonly history: PublicationHistory,
    private readonly target: RulesTarget,
    private readonly clock: Clock,
    @Optional() private readonly scheduler?: SchedulerRegistry,
  ) {}

  async status(): Promise<SyncStatus> {
    const summary = await this.history.summary();
    const [published = null] = (await this.history.list({ limit: 1, after: null })).items;
    return {
      ...summary,
      nextRunAt: this.nextRunAt(),
      published,
      restore: lastingRestore(published, this.clock.now()),
      target: this.target.name,
    };
  }

  private nextRunAt(): Date | null {
    if (this.scheduler?.doesExist('cron', SYNC_JOB) !== true) return null;
    return this.scheduler.getCronJob(SYNC_JOB).nextDate().toJSDate();
  }

  publications(page: PageRequest): Promise<Page<PublicationSummary>> {
    return this.history.list(page);
  }

  /** The same with the refused and failed runs among them. */
  publicationsAndRuns(page: HistoryPage): Promise<Page<PublicationSummary | PastRun>> {
    return this.history.listWithRuns(page);
  }

  publication(version: number): Promise<Publication | null> {
    return this.history.find(version);
  }
}
