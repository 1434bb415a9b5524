import type { Clock } from '../kernel/clock.js';
import { diffRules } from '../trino-rules/diff/rules-diff.js';
import type { Prepared, Reading } from './candidate.service.js';
import type { Candidate } from './domain/candidate.js';
import { foundDraft, foundVersion, isVersionNamed } from './domain/found-version.js';
import type { PublicationDraft, PublicationHistory } from './domain/publication-history.js';
import type { Publication, RunEnding, RunOrder, RunOutcome } from './domain/publication.js';
import { lastingRestore } from './domain/restore.js';
import type { RulesPreparer } from './domain/rules-preparer.js';
import type { LiveRules, RulesTarget } from './domain/rules-target.js';
import {
  type Compare,
  type Comparison,
  comparisonKey,
  decide,
  type Decision,
  editIn,
  type Keep,
  outcomeOf,
  type Publish,
  type Restoring,
  type Situation,
} from './domain/run-decision.js';
import type { Lease } from './domain/sync-lock.js';
import { judgedRestore, judgedText } from './judged-text.js';
import { TargetSession } from './target-session.js';

/** The ports of a run. */
export interface RunPorts {
  target: RulesTarget;
  history: PublicationHistory;
  preparer: RulesPreparer;
  clock: Clock;
  /** Prepares the candidate, measured from what the history has then, or else from the live text. */
  prepare: (live: string | null) => Promise<Prepared>;
}

/** The texts that a run has made so far. */
interface Made {
  prepared: Prepared | null;
  withdrawal: Candidate | null | undefined;
  comparisons: ReadonlyMap<string, Comparison>;
}

/** The history and the target as they are now, and the state of the target to write over. */
interface ReadSituation extends Situation {
  live: LiveRules;
  latest: Publication | null;
}

/** One run: reads the situation, decides, and carries that out, until a decision ends it (docs/sync-run.md). */
export class PublishingRun {
  private readonly session: TargetSession;
  private made: Made = { prepared: null, withdrawal: undefined, comparisons: new Map() };
  private edit: RunEnding['edit'] = null;
  /** The version that this run began last. */
  private begun: number | null = null;

  constructor(
    private readonly ports: RunPorts,
    private readonly reading: Reading,
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
      if (outcome !== null) return { outcome, edit: this.edit };
    }
  }

  /** Null: the run goes on, in what may be another situation. */
  private async carryOut(decision: Decision, situation: ReadSituation): Promise<RunOutcome | null> {
    switch (decision.kind) {
      case 'prepare':
        return this.goOn({ prepared: await this.ports.prepare(situation.live.text), withdrawal: undefined });
      case 'withdraw':
        return this.goOn({ withdrawal: await this.made.prepared?.withdrawal(decision.changes) });
      case 'compare':
        return this.goOn({ comparisons: await this.compared(decision, situation) });
      case 'refuse':
        return { kind: 'refused', ...decision.refusal, publication: null };
      case 'keep':
        return this.keep(decision, situation);
      case 'publish':
        return this.write(decision, situation);
    }
  }

  private goOn(made: Partial<Made>): null {
    this.made = { ...this.made, ...made };
    this.session.renew();
    return null;
  }

  private async compared({ intent, restoring }: Compare, { latest }: Situation): Promise<Made['comparisons']> {
    const { preparer } = this.ports;
    const fromIntent = await preparer.compare(intent.text, restoring.text.text);
    const fromPublished = await preparer.compare(latest?.text ?? '', restoring.text.text);
    return new Map([...this.made.comparisons, [comparisonKey(intent, latest), { fromIntent, fromPublished }]]);
  }

  private async keep(decision: Keep, { live, latest }: ReadSituation): Promise<RunOutcome | null> {
    if (latest === null) throw new Error('nothing was published that could stay');
    const { text, hash, version: generation, publishedAt } = latest;
    const isNamed = isVersionNamed(live, latest);
    if (!isNamed && !(await this.session.replace(live, { text, hash, generation, publishedAt }))) return null;
    // Our own write, whose answer was lost: the retry found the target changed.
    return outcomeOf(decision, latest, generation === this.begun);
  }

  private async write(decision: Publish, situation: ReadSituation): Promise<RunOutcome | null> {
    const { history, clock } = this.ports;
    const { live, now: publishedAt } = situation;
    this.begun = await history.begin(draftOf(decision, situation, this.order));
    const { text, hash } = decision.next;
    const next = { text, hash, generation: this.begun, publishedAt };
    if (decision.isWritten && !(await this.session.replace(live, next))) return null;
    return outcomeOf(decision, await history.confirm(this.begun, clock.now()), decision.isWritten);
  }

  /** Brings the history up to the target first: a run may have died after writing, or another database have published there. */
  private async read(): Promise<ReadSituation> {
    const { history, clock } = this.ports;
    const live = await this.session.read();
    const now = clock.now();
    await history.settle(live, now);
    const latest = await this.withFound(live, await history.latest(), now);
    const { prepared, withdrawal } = this.made;
    return {
      live,
      latest,
      now,
      reading: this.reading,
      candidate: prepared && (await judgedText(prepared.candidate, live, this.ports, true)),
      foundText: prepared?.foundText ?? null,
      withdrawal: withdrawal && (await judgedText(withdrawal, live, this.ports, false)),
      restoring: await this.restoring(live, latest, now),
    };
  }

  /** Records a version that only the target has. */
  private async withFound(live: LiveRules, latest: Publication | null, now: Date): Promise<Publication | null> {
    const { history, clock } = this.ports;
    const found = foundVersion(live, latest, await history.newest());
    if (found === null) return latest;
    const version = await history.begin(foundDraft(found, await history.baseline(), latest, this.order.trigger, now));
    return history.confirm(version, clock.now());
  }

  private async restoring(live: LiveRules, latest: Publication | null, now: Date): Promise<Restoring | null> {
    const restore = this.order.restore ?? lastingRestore(latest, now);
    if (restore === null) return null;
    const text = await judgedRestore(restore, live, this.ports);
    return { restore, isOrdered: this.order.restore !== undefined, text, comparisons: this.made.comparisons };
  }
}

function draftOf(
  { next, restore, isWithdrawal, isWritten, edit }: Publish,
  { live, now }: ReadSituation,
  { trigger, by }: RunOrder,
): PublicationDraft {
  const { findings, at, nextExpiry, ...compiled } = next;
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
