import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import { SnapshotStore } from '../grants/domain/snapshot-store.js';
import { Log } from '../platform/log/log.js';
import { Settings } from '../platform/settings/settings.js';
import { inSpan } from '../platform/operations/tracing.js';
import { type Candidate, type Preparation, snapshotDigest, refusedCandidate } from './domain/candidate.js';
import { EVENTS_OF_RULES } from './domain/explained-snapshot.js';
import { baselineOfFound, type FoundVersion } from './domain/found-version.js';
import { PublicationHistory } from './domain/publication-history.js';
import type { WithdrawalOrder } from './domain/prepared-withdrawal.js';
import { RulesPreparer } from './domain/run-ports.js';
import { RulesTarget } from './domain/rules-target.js';
import type { Previous } from './domain/unexplained-change.js';

/** The input of a compilation, as read from the database. */
export interface CandidateInput extends Pick<Preparation, 'snapshot' | 'position'> {
  snapshotHash: string;
  compiler: string;
}

/** A candidate, with the withdrawal to publish if it is refused. */
export interface Prepared {
  candidate: Candidate;
  /** The text of the found version that the candidate replaces; null: it replaces none. */
  foundText: string | null;
  /** Makes the rules to publish if the candidate is refused; null: nothing was published before. */
  withdrawal: (changes: WithdrawalOrder['changes']) => Promise<Candidate | null>;
}

/** Makes candidates from the database: snapshot, audit trail and publication history. */
@Injectable()
export class CandidateService {
  constructor(
    private readonly snapshots: SnapshotStore,
    private readonly audit: AuditService,
    private readonly history: PublicationHistory,
    private readonly preparer: RulesPreparer,
    private readonly target: RulesTarget,
    private readonly settings: Settings,
    private readonly log: Log,
  ) {}

  async read(): Promise<CandidateInput> {
    // The position is read before the snapshot, so that events after it include every change that the snapshot lacks.
    const position = await this.audit.position();
    const snapshot = await this.snapshots.read();
    const { build: compiler } = this.preparer;
    return { snapshot, position, compiler, snapshotHash: snapshotDigest(snapshot) };
  }

  /**
   * @param found a version that only the target has, and the history does not have yet
   * @param live the text at the target, with which a first publication is compared
   */
  async prepare(
    { snapshot, position }: CandidateInput,
    found: FoundVersion | null,
    live: string | null,
  ): Promise<Prepared> {
    const { maxUnexplainedPercent, warnTableRules } = this.settings.acl;
    const limits = { bytes: this.target.limitBytes, maxUnexplainedPercent, warnTableRules };
    const previous = await this.readPrevious(found, snapshot.at);
    const foreign = previous === null && live !== null ? { foreign: live } : {};
    const preparation = { snapshot, position, previous, limits, ...foreign };
    return {
      candidate: await this.prepareCandidate(preparation),
      foundText: previous?.baseline.isFound === true ? previous.baseline.text : null,
      withdrawal: (changes) => this.prepareWithdrawal(preparation, changes),
    };
  }

  /** Prepares the candidate. A failure counts as a refusal, so that withdrawals are still published. */
  private async prepareCandidate(preparation: Preparation): Promise<Candidate> {
    try {
      return await inSpan('rules proof', () => this.preparer.prepare(preparation));
    } catch (error) {
      if (preparation.previous === null) throw error;
      this.log.error('rules could not be prepared', { err: error });
      return refusedCandidate(preparation);
    }
  }

  private async prepareWithdrawal(
    preparation: Preparation,
    changes: WithdrawalOrder['changes'],
  ): Promise<Candidate | null> {
    try {
      return await this.preparer.withdraw(preparation, { how: 'compiled', changes });
    } catch (error) {
      this.log.error('withdrawal could not be compiled', { err: error });
      return this.preparer.withdraw(preparation, { how: 'closed', changes });
    }
  }

  /** Reads the published state and the events since. Called after the snapshot was read, so that every change in it has its event. */
  private async readPrevious(found: FoundVersion | null, now: Date): Promise<Previous | null> {
    const [known, latest] = [await this.history.baseline(), await this.history.latest()];
    const baseline = found === null ? known : baselineOfFound(found, known, now);
    const published = found?.text ?? latest?.text;
    if (baseline === null || published === undefined) return null;
    const events = await this.audit.eventsSince(EVENTS_OF_RULES, baseline.position);
    const { lastSuccessAt } = await this.history.summary();
    return { baseline, published, events, settledAt: lastSuccessAt ?? baseline.at };
  }
}
