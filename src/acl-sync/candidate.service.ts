import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import { SnapshotStore } from '../grants/domain/snapshot-store.js';
import { Log } from '../platform/log/log.js';
import { Settings } from '../platform/settings/settings.js';
import { inSpan } from '../platform/operations/tracing.js';
import type { AccessChange } from '../trino-rules/diff/access-change.js';
import { type Candidate, type Preparation, refusedCandidate, snapshotDigest } from './domain/candidate.js';
import { EVENTS_OF_RULES } from './domain/explained-snapshot.js';
import type { FirstStep, FirstStepOrder } from '../trino-rules/transition/first-step.js';
import { baselineOfFound, type FoundVersion } from './domain/found-version.js';
import { PublicationHistory } from './domain/publication-history.js';
import type { Publication } from './domain/publication.js';
import type { WithdrawalOrder } from './domain/prepared-withdrawal.js';
import { RulesPreparer } from './domain/run-ports.js';
import type { Comparison } from './domain/run-decision.js';
import { RulesTargets } from './domain/rules-target.js';
import type { PreviousState } from './domain/unexplained-change.js';
import type { VersionAccess } from './domain/version-access.js';

/** The input of a compilation, as read from the database. */
export interface CandidateInput extends Pick<Preparation, 'snapshot' | 'position'> {
  snapshotHash: string;
  compiler: string;
}

export interface PreparedCandidate {
  candidate: Candidate;
  /** The text of the version that the candidate replaces, if a target has that version but this database lacks it; otherwise null. */
  foundText: string | null;
  /** Makes the version that is published instead if the candidate is refused. Null: nothing was published before. */
  makeWithdrawal: (changes: WithdrawalOrder['changes']) => Promise<Candidate | null>;
}

type VersionText = Pick<Publication, 'version' | 'text'>;

/** Makes candidates (versions that could be published) from the snapshot, the audit trail and the publication history. */
@Injectable()
export class CandidateService {
  constructor(
    private readonly snapshots: SnapshotStore,
    private readonly audit: AuditService,
    private readonly history: PublicationHistory,
    private readonly preparer: RulesPreparer,
    private readonly targets: RulesTargets,
    private readonly settings: Settings,
    private readonly log: Log,
  ) {}

  async read(): Promise<CandidateInput> {
    // The position is read before the snapshot, so that events after it include every change that the snapshot lacks.
    const position = await this.audit.endPosition();
    const snapshot = await this.snapshots.read();
    const { compilerDigest: compiler } = this.preparer;
    return { snapshot, position, compiler, snapshotHash: snapshotDigest(snapshot) };
  }

  /**
   * @param foundVersion a version that a target has but the history lacks; null: there is none
   * @param liveText the text at the target, with which a first publication is compared
   */
  async prepare(
    { snapshot, position }: CandidateInput,
    foundVersion: FoundVersion | null,
    liveText: string | null,
  ): Promise<PreparedCandidate> {
    const { maxUnexplainedPercent, warnTableRules } = this.settings.acl;
    const limits = { bytes: this.targets.limitBytes, maxUnexplainedPercent, warnTableRules };
    const previous = await this.readPrevious(foundVersion, snapshot.at);
    const foreignRules = previous === null && liveText !== null ? { foreignText: liveText } : {};
    const preparation = { snapshot, position, previous, limits, artefacts: this.targets.artefacts, ...foreignRules };
    return {
      candidate: await this.prepareCandidate(preparation),
      foundText: previous?.baseline.isFound === true ? previous.baseline.text : null,
      makeWithdrawal: (changes) => this.prepareWithdrawal(preparation, changes),
    };
  }

  async accessOf({ version, text }: VersionText): Promise<VersionAccess> {
    return { text, snapshot: (await this.history.accessSnapshot(version)) ?? '' };
  }

  /** The access that people gain and lose from version `before` to version `after`. @throws PreparationExceeded */
  async compareVersions(before: VersionText, after: VersionText): Promise<AccessChange> {
    return this.preparer.run('compare', await this.accessOf(before), await this.accessOf(after));
  }

  /** Compares `restoredAccess` with the other two. If OPA is a target, also proves the restored snapshot, by which OPA would decide. */
  async compareRestore(
    intendedAccess: VersionAccess,
    restoredAccess: VersionAccess,
    publishedAccess: VersionAccess | null,
  ): Promise<Comparison> {
    const { preparer } = this;
    return {
      fromIntended: await preparer.run('compare', intendedAccess, restoredAccess),
      fromPublished: publishedAccess && (await preparer.run('compare', publishedAccess, restoredAccess)),
      findings: this.targets.isForOpa ? await preparer.run('prove', restoredAccess.snapshot) : [],
    };
  }

  /** The transitional version to publish before the rules (docs/sync-run.md). Null: none is needed or possible. */
  async firstStep(order: FirstStepOrder, fitsTargets: (step: FirstStep) => boolean): Promise<FirstStep | null> {
    try {
      const step = await this.preparer.run('firstStep', order);
      if (step !== null && !fitsTargets(step)) throw new Error(`its ${step.bytes} bytes do not fit at a target`);
      return step !== null && (await this.history.isBroken(step.hash)) ? null : step;
    } catch (error) {
      this.log.error('first step could not be made', { err: error });
      return null;
    }
  }

  /** A failure usually counts as a refusal, so that the run can still withdraw revoked access. */
  private async prepareCandidate(preparation: Preparation): Promise<Candidate> {
    try {
      return await inSpan('rules proof', () => this.preparer.run('prepare', preparation));
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
      return await this.preparer.run('withdraw', preparation, { how: 'compiled', changes });
    } catch (error) {
      this.log.error('withdrawal could not be compiled', { err: error });
      return this.preparer.run('withdraw', preparation, { how: 'closed', changes });
    }
  }

  /** Reads the published state and later audit events. Call it after reading the snapshot: the events must include the snapshot's changes. */
  private async readPrevious(foundVersion: FoundVersion | null, now: Date): Promise<PreviousState | null> {
    const [recordedBaseline, latest] = [await this.history.baseline(), await this.history.latest()];
    const baseline = foundVersion === null ? recordedBaseline : baselineOfFound(foundVersion, recordedBaseline, now);
    const publishedVersion = foundVersion ?? latest;
    if (baseline === null || publishedVersion === null) return null;
    const events = await this.audit.eventsSince(EVENTS_OF_RULES, baseline.position);
    const { lastSuccessAt } = await this.history.summary();
    // A snapshot can have mebibytes, so it is read only if the rules cannot be compared instead.
    const mustRead =
      baseline.hash !== publishedVersion.hash && (publishedVersion.text === null || this.targets.all.length === 0);
    const access = mustRead
      ? await this.accessOf(publishedVersion)
      : { text: publishedVersion.text, snapshot: baseline.snapshot };
    return { baseline, publishedAccess: access, events, settledAt: lastSuccessAt ?? baseline.at };
  }
}
