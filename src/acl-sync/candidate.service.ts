import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import { SnapshotService } from '../grants/snapshot.service.js';
import { Settings } from '../platform/settings.js';
import type { Candidate } from './domain/candidate.js';
import { RECORDED_EVENTS } from './domain/last-words.js';
import { PublicationHistory } from './domain/publication-history.js';
import { RulesPreparer } from './domain/rules-preparer.js';
import { RulesTarget } from './domain/rules-target.js';
import type { Former } from './domain/surprise.js';

/** What could be published now. */
@Injectable()
export class CandidateService {
  constructor(
    private readonly snapshots: SnapshotService,
    private readonly audit: AuditService,
    private readonly history: PublicationHistory,
    private readonly preparer: RulesPreparer,
    private readonly target: RulesTarget,
    private readonly settings: Settings,
  ) {}

  async current(): Promise<Candidate> {
    // In this order: nothing is in the snapshot of which the trail tells neither now nor from this position on.
    const position = await this.audit.position();
    const snapshot = await this.snapshots.read();
    const { maxUnexplainedPercent, warnTableRules } = this.settings.acl;
    const limits = { bytes: this.target.limitBytes, maxUnexplainedPercent, warnTableRules };
    return this.preparer.prepare({ snapshot, position, former: await this.former(), limits });
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
