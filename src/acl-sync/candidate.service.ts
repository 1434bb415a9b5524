import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import { SnapshotService } from '../grants/snapshot.service.js';
import { Log } from '../platform/log.js';
import { Settings } from '../platform/settings.js';
import { type Candidate, type Preparation, unprepared } from './domain/candidate.js';
import { RECORDED_EVENTS } from './domain/last-words.js';
import { PublicationHistory } from './domain/publication-history.js';
import { RulesPreparer } from './domain/rules-preparer.js';
import { RulesTarget } from './domain/rules-target.js';
import type { Former } from './domain/surprise.js';

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
    const preparation = { snapshot, position, former: await this.former(), limits };
    return { candidate: await this.prepared(preparation), withdrawal: () => this.withdrawal(preparation) };
  }

  /** A preparation that breaks down is a refusal, so that what was taken away goes out all the same. */
  private async prepared(preparation: Preparation): Promise<Candidate> {
    try {
      return await this.preparer.prepare(preparation);
    } catch (error) {
      if (preparation.former === null) throw error;
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
  private async former(): Promise<Former | null> {
    const [basis, latest] = [await this.history.basis(), await this.history.latest()];
    if (basis === null || latest === null) return null;
    const events = await this.audit.since(RECORDED_EVENTS, basis.position);
    const { lastSuccessAt } = await this.history.summary();
    return { basis, published: latest.text, events, settledAt: lastSuccessAt ?? basis.at };
  }
}
