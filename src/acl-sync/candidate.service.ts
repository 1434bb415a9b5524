import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import { SnapshotService } from '../grants/snapshot.service.js';
import { Log } from '../platform/log.js';
import { Settings } from '../platform/settings.js';
import { PROJECTED_EVENTS } from './domain/audit-projection.js';
import { type Candidate, type Preparation, unprepared } from './domain/candidate.js';
import { PublicationHistory } from './domain/publication-history.js';
import { RulesPreparer } from './domain/rules-preparer.js';
import { RulesTarget } from './domain/rules-target.js';
import type { Previous } from './domain/unexplained-change.js';

/** What could be published now. */
export interface Prepared {
  candidate: Candidate;
  /** What goes out if that is refused; null: there is nothing to take from. */
  withdrawal: () => Promise<Candidate | null>;
}

/** Makes candidates out of what is written down. */
@Injectable()
export class CandidateService {
  constructor(
    private readonly snapshots: SnapshotService,
    private readonly audit: AuditService,
    private readonly history: PublicationHistory,
    private readonly preparer: RulesPreparer,
    private readonly target: RulesTarget,
    private readonly settings: Settings,
    private readonly log: Log,
  ) {}

  async current(): Promise<Prepared> {
    // In this order: nothing is in the snapshot of which the trail tells neither now nor from this position on.
    const position = await this.audit.position();
    const snapshot = await this.snapshots.read();
    const { maxUnexplainedPercent, warnTableRules } = this.settings.acl;
    const limits = { bytes: this.target.limitBytes, maxUnexplainedPercent, warnTableRules };
    const preparation = { snapshot, position, previous: await this.previous(), limits };
    return { candidate: await this.prepared(preparation), withdrawal: () => this.withdrawal(preparation) };
  }

  /** A preparation that breaks down is a refusal, so that what was taken away goes out all the same. */
  private async prepared(preparation: Preparation): Promise<Candidate> {
    try {
      return await this.preparer.prepare(preparation);
    } catch (error) {
      if (preparation.previous === null) throw error;
      this.log.error('rules could not be prepared', { err: error });
      return unprepared(preparation);
    }
  }

  private async withdrawal(preparation: Preparation): Promise<Candidate | null> {
    try {
      return await this.preparer.withdraw(preparation, 'compiled');
    } catch (error) {
      this.log.error('withdrawal could not be compiled', { err: error });
      return this.preparer.withdraw(preparation, 'closed');
    }
  }

  /** Read after the snapshot, so that nothing is in it of which the trail does not tell yet. */
  private async previous(): Promise<Previous | null> {
    const [baseline, latest] = [await this.history.baseline(), await this.history.latest()];
    if (baseline === null || latest === null) return null;
    const events = await this.audit.since(PROJECTED_EVENTS, baseline.position);
    const { lastSuccessAt } = await this.history.summary();
    return { baseline, published: latest.text, events, settledAt: lastSuccessAt ?? baseline.at };
  }
}
