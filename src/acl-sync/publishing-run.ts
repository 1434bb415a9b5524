import { gzipSync } from 'node:zlib';
import type { Clock } from '../kernel/clock.js';
import { diffRules } from '../trino-rules/diff/rules-diff.js';
import type { Finding } from '../trino-rules/document/finding.js';
import { readRules } from '../trino-rules/document/rules-reader.js';
import { checkCapacity } from '../trino-rules/document/target-capacity.js';
import type { CandidateService, Prepared, CandidateInput } from './candidate.service.js';
import type { Candidate } from './domain/candidate.js';
import { draftOfFound, foundVersion, isVersionNamed } from './domain/found-version.js';
import type { PublicationDraft, PublicationHistory } from './domain/publication-history.js';
import type { Publication, RunEnding, RunOrder, RunOutcome } from './domain/publication.js';
import { restoreInEffect, type Restore } from './domain/restore.js';
import type { Lease, RulesPreparer } from './domain/run-ports.js';
import {
  type LiveRules,
  type NextRules,
  type RulesTarget,
  RulesTargetMoved,
  TARGET_MS,
} from './domain/rules-target.js';
import {
  BROKEN_FINDING,
  type Comparison,
  comparisonKey,
  decide,
  type Decision,
  editIn,
  type KeepDecision,
  outcomeOf,
  type PublishDecision,
  type Restoring,
  type Situation,
} from './domain/run-decision.js';

export interface RunPorts {
  target: RulesTarget;
  history: PublicationHistory;
  preparer: RulesPreparer;
  clock: Clock;
  candidates: CandidateService;
}

export interface MadeTexts {
  prepared: Prepared | null;
  withdrawal: Candidate | null | undefined;
  comparisons: ReadonlyMap<string, Comparison>;
}

/** The present situation, with the state of the target that a write would replace. */
interface ReadSituation extends Situation {
  live: LiveRules;
  latest: Publication | null;
}

/** One run: reads the situation, decides, and carries the decision out, until a decision ends the run (docs/sync-run.md). */
export class PublishingRun {
  private readonly session: TargetSession;
  private made: MadeTexts = { prepared: null, withdrawal: undefined, comparisons: new Map() };
  private edit: RunEnding['edit'] = null;
  private begun: number | null = null;

  constructor(
    private readonly ports: RunPorts,
    private readonly reading: CandidateInput,
    private readonly order: RunOrder,
    lease: Lease,
  ) {
    this.session = new TargetSession(ports.target, lease);
  }

  /** @throws RulesTargetUnavailable, RulesTargetMoved, LeaseLost */
  async publish(): Promise<RunEnding> {
    for (;;) {
      const situation = await this.read();
      const decision = decide(situation);
      this.edit = editIn(situation) ?? this.edit;
      const outcome = await this.carryOut(decision, situation);
      if (outcome !== null) return { outcome, edit: this.edit, judged: this.made.prepared?.candidate ?? null };
    }
  }

  /** Carries a decision out. Null: the run must read the situation again and go on. */
  private async carryOut(decision: Decision, situation: ReadSituation): Promise<RunOutcome | null> {
    switch (decision.kind) {
      case 'prepare':
        return this.readAgain({
          prepared: await this.ports.candidates.prepare(this.reading, null, situation.live.text),
          withdrawal: undefined,
        });
      case 'withdraw':
        return this.readAgain({ withdrawal: await this.made.prepared?.withdrawal(decision.changes) });
      case 'compare': {
        const { intent, restoring } = decision;
        const { preparer } = this.ports;
        const fromIntent = await preparer.compare(intent.text, restoring.text.text);
        const fromPublished = await preparer.compare(situation.latest?.text ?? '', restoring.text.text);
        const comparison = [comparisonKey(intent, situation.latest), { fromIntent, fromPublished }] as const;
        return this.readAgain({ comparisons: new Map([...this.made.comparisons, comparison]) });
      }
      case 'refuse':
        return { kind: 'refused', ...decision.refusal, publication: null };
      case 'keep':
        return this.keepPublished(decision, situation);
      case 'publish':
        return this.writeRules(decision, situation);
    }
  }

  private readAgain(made: Partial<MadeTexts>): null {
    this.made = { ...this.made, ...made };
    this.session.renew();
    return null;
  }

  private async keepPublished(decision: KeepDecision, { live, latest }: ReadSituation): Promise<RunOutcome | null> {
    if (latest === null) throw new Error('nothing was published that could stay');
    const { text, hash, version: generation, publishedAt } = latest;
    const isNamed = isVersionNamed(live, latest);
    if (!isNamed && !(await this.session.replace(live, { text, hash, generation, publishedAt }))) return null;
    // The version is new if this run began it: its own write succeeded, but the answer was lost.
    return outcomeOf(decision, latest, generation === this.begun);
  }

  private async writeRules(decision: PublishDecision, situation: ReadSituation): Promise<RunOutcome | null> {
    const { history, clock } = this.ports;
    const { live, now: publishedAt } = situation;
    this.begun = await history.begin(draftOf(decision, situation, this.order));
    const { text, hash } = decision.next;
    const next = { text, hash, generation: this.begun, publishedAt };
    if (decision.isWritten && !(await this.session.replace(live, next))) return null;
    return outcomeOf(decision, await history.confirm(this.begun, clock.now()), decision.isWritten);
  }

  /** Reads the situation. First updates the history from the target, because a run may have died after writing, or another database published. */
  private async read(): Promise<ReadSituation> {
    const { history, clock } = this.ports;
    const live = await this.session.read();
    const now = clock.now();
    await history.settle(live, now);
    const latest = await this.recordFound(live, await history.latest(), now);
    const found = { live, latest, now, reading: this.reading };
    return { ...found, ...(await withFindings(this.made, found, this.ports, this.order.restore)) };
  }

  /** Records a version that only the target has. */
  private async recordFound(live: LiveRules, latest: Publication | null, now: Date): Promise<Publication | null> {
    const { history, clock } = this.ports;
    const found = foundVersion(live, latest, await history.newest());
    if (found === null) return latest;
    const version = await history.begin(draftOfFound(found, await history.baseline(), latest, this.order.trigger, now));
    return history.confirm(version, clock.now());
  }
}

function draftOf(
  { next, restore, isWithdrawal, isWritten, edit }: PublishDecision,
  { live, now }: ReadSituation,
  { trigger, by }: RunOrder,
): PublicationDraft {
  const { findings, at, verdicts: _, ...compiled } = next;
  return {
    ...compiled,
    checks: findings,
    snapshotAt: at,
    diff: diffRules(live.text, next.text),
    trigger,
    triggeredBy: by.actor?.id ?? null,
    isWithdrawal,
    restored: restore,
    begunAt: now,
    isWritten,
    edit,
    isFound: false,
    after: live.written?.generation ?? 0,
  };
}

/** The most attempts of a run to write while another writer keeps changing the target. */
const MAX_WRITES = 10;

/** One run's access to the target, limited in time and writes, and only while the run holds the lock. */
class TargetSession {
  private signal = AbortSignal.timeout(TARGET_MS);
  private writes = 0;

  constructor(
    private readonly target: RulesTarget,
    private readonly lease: Lease,
  ) {}

  /** Restarts the time limit, after work with its own limit. */
  renew(): void {
    this.signal = AbortSignal.timeout(TARGET_MS);
  }

  /** @throws RulesTargetUnavailable, LeaseLost */
  async read(): Promise<LiveRules> {
    const live = await this.target.read(this.signal);
    await this.lease.confirm();
    return live;
  }

  /**
   * Writes the rules. Repeats the write if another writer changed only other parts of the target, such as labels or other keys.
   * @returns false: the live rules are no longer the planned ones
   * @throws RulesTargetMoved if the last attempt found the target changed; RulesTargetUnavailable, LeaseLost
   */
  async replace(planned: LiveRules, next: NextRules): Promise<boolean> {
    for (let live = planned; live.text === planned.text; live = await this.read()) {
      this.writes += 1;
      try {
        await this.target.publish(next, live, this.signal);
        return true;
      } catch (error) {
        if (!(error instanceof RulesTargetMoved) || this.writes === MAX_WRITES) throw error;
      }
    }
    return false;
  }
}

type Text = Pick<Candidate, 'text' | 'hash' | 'bytes' | 'findings'>;
type Judges = Pick<RunPorts, 'history' | 'target'>;

/**
 * Adds findings to a run's texts: the engine failed on the text before, the text cannot be read, or the target cannot hold it beside the
 * live text.
 */
export async function withFindings(
  { prepared, withdrawal, comparisons }: MadeTexts,
  { live, latest, now }: Pick<Situation, 'live' | 'latest' | 'now'>,
  judges: Judges,
  ordered?: Restore,
): Promise<Pick<Situation, 'candidate' | 'foundText' | 'withdrawal' | 'restoring'>> {
  const restore = ordered ?? restoreInEffect(latest, now);
  return {
    candidate: prepared && (await judgedText(prepared.candidate, live, judges, true)),
    foundText: prepared?.foundText ?? null,
    withdrawal: withdrawal && (await judgedText(withdrawal, live, judges, false)),
    restoring: restore && {
      ...{ restore, isOrdered: ordered !== undefined, comparisons },
      text: await judgedRestore(restore, live, judges),
    },
  };
}

/** Adds findings to a text. The size of a live text is not checked. @param isProved whether the proof has read the text */
async function judgedText<T extends Text>(
  judged: T,
  live: Pick<LiveRules, 'text'>,
  { history, target }: Judges,
  isProved: boolean,
): Promise<T> {
  const broken = (await history.isBroken(judged.hash)) ? [BROKEN_FINDING] : [];
  const findings = [...judged.findings, ...broken];
  if (judged.text === live.text || findings.some(({ code }) => code === 'too-large')) return { ...judged, findings };
  const isReadable = isProved || readRules(judged.text).kind === 'read';
  const further = isReadable ? capacityFindings(judged, live.text ?? '', target.limitBytes) : [UNREADABLE_FINDING];
  return { ...judged, findings: [...findings, ...further] };
}

async function judgedRestore(
  { version }: Restore,
  live: Pick<LiveRules, 'text'>,
  judges: Judges,
): Promise<Restoring['text']> {
  const former = await judges.history.find(version);
  if (former === null) throw new Error(`publication ${version} does not exist`);
  const { text, hash, rules, bytes } = former;
  const unread = { text, hash, rules, bytes, findings: [] };
  if (readRules(text).kind !== 'read') return { ...unread, findings: [UNREADABLE_FINDING] };
  return judgedText(unread, live, judges, true);
}

/** Refuses an unreadable text from the target: it was never proved, so it may give any access, and the engine may fail on it. */
const UNREADABLE_FINDING: Finding = {
  code: 'rules-unreadable',
  severity: 'error',
  message:
    'the rules of the version that was found at the target cannot be read completely, so they are not published again',
};

/** Findings if a target cannot hold a text beside the former one. */
export function capacityFindings(
  next: Pick<Text, 'text' | 'bytes'>,
  former: string,
  limitBytes: number | null,
): Finding[] {
  const sizes = {
    next: next.bytes,
    former: Buffer.byteLength(former),
    nextCompressed: () => gzipSync(next.text).length,
    formerCompressed: () => gzipSync(former).length,
  };
  return checkCapacity(sizes, limitBytes);
}
