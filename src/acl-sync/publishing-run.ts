import { createHash } from 'node:crypto';
import type { AuditContext } from '../audit/domain/audit-event.js';
import type { AccessChange } from '../trino-rules/diff/access-change.js';
import { diffRules } from '../trino-rules/diff/rules-diff.js';
import { type Finding, isError } from '../trino-rules/document/finding.js';
import type { Prepared } from './candidate.service.js';
import { withCapacityFindings } from './capacity-findings.js';
import { type Candidate, isRefused } from './domain/candidate.js';
import type { PublicationDraft } from './domain/publication-history.js';
import {
  isBrokenFinding,
  type Plan,
  planPublication,
  restoredCandidate,
  unreadableFinding,
  withBrokenFinding,
} from './domain/publication-plan.js';
import type { Edit, Publication, RunOutcome, Trigger } from './domain/publication.js';
import { contradiction, isSameRestore, lastingRestore, type Restore, restoredFinding } from './domain/restore.js';
import type { RulesPreparer } from './domain/rules-preparer.js';
import { type LiveRules, type NextRules, RulesTargetMoved, TARGET_MS } from './domain/rules-target.js';
import type { Lease } from './domain/sync-lock.js';
import { readSituation, type Situation, type SituationPorts } from './situation.js';

/** Trigger, actor and lock timeout of a run. */
export interface RunOrder {
  trigger: Trigger;
  by: AuditContext;
  /** How long to wait for a run that holds the lock. */
  lockTimeoutMs: number;
  /** The version to restore. */
  restore?: Restore;
}

/** How a run ended, before it is reported. */
export interface RunEnding {
  outcome: RunOutcome;
  /** The live text was edited by hand; undefined: it was not. */
  edit: Edit | undefined;
}

/** The ports of a run. */
export interface RunPorts extends SituationPorts {
  preparer: RulesPreparer;
  /** Prepares the candidate again, measured from a version that was found meanwhile. */
  prepare: () => Promise<Prepared>;
}

/** Writes of a run that another writer of the target may forestall. */
const MAX_ATTEMPTS = 10;

/** The text to publish. */
interface Choice {
  next: Candidate;
  /** Null: the text is compiled from the current grants. */
  restore: Restore | null;
}

/** One run: plans against the live text and writes; starts again when another writer changed the rules meanwhile. */
export class PublishingRun {
  private signal = AbortSignal.timeout(TARGET_MS);
  private withdrawal: Candidate | null | undefined;
  /** Access changes by the restored text, keyed by the hash of the text that would be published otherwise and the last version. */
  private readonly changes = new Map<string, { fromIntent: AccessChange; fromPublished: AccessChange }>();
  private edit: RunEnding['edit'];
  private attempts = 0;

  constructor(
    private readonly ports: RunPorts,
    private prepared: Prepared,
    private readonly order: RunOrder,
    private readonly lease: Lease,
  ) {}

  /** @throws RulesTargetUnavailable, RulesTargetMoved, LeaseLost */
  async publish(): Promise<RunEnding> {
    const { history, clock } = this.ports;
    let begun: number | null = null;
    for (;;) {
      const situation = await readSituation(this.ports, this.order.trigger, this.lease, this.signal);
      const { live, latest, now } = situation;
      if (latest?.isFound === true && latest.text !== this.prepared.foundText) {
        this.prepared = await this.ports.prepare();
        this.withdrawal = undefined;
        this.signal = AbortSignal.timeout(TARGET_MS);
        continue;
      }
      const candidate = await this.judged(this.prepared.candidate, live);
      const plan = planPublication(candidate, live, latest);
      if (plan.drift) this.edit = { textHash: digest(live.text) };
      const choice = await this.choose(candidate, plan, situation);
      if (choice === 'took-seconds') {
        this.signal = AbortSignal.timeout(TARGET_MS);
        continue; // the target may have changed or the lock been lost meanwhile
      }
      if ('outcome' in choice) return { ...choice, edit: this.edit };
      const { next, restore } = choice;
      const ended = (publication: Publication, isNew: boolean): RunEnding => ({
        outcome: this.outcome(plan, candidate, restore, publication, isNew),
        edit: this.edit,
      });
      const isKnown = latest !== null && (!latest.isFound || plan.kind === 'refused');
      if (isKnown && live.text === next.text && latest.text === next.text && isSameRestore(latest, restore)) {
        // Our own write, whose answer was lost: the retry found the target changed.
        return ended(latest, latest.version === begun);
      }
      const isWithdrawal = plan.kind === 'refused' && restore === null;
      const isWritten = live.text !== next.text;
      const edit = plan.drift && isWritten ? { textHash: digest(live.text) } : null;
      const how = { isWithdrawal, restored: restore, begunAt: now, isWritten, edit };
      begun = await history.begin(draftOf(next, live, this.order, how));
      try {
        if (isWritten) {
          const { text, hash } = next;
          await this.write({ text, hash, generation: begun, publishedAt: now }, live);
        }
        const publication = await history.confirm(begun, clock.now());
        return ended(publication, isWritten);
      } catch (error) {
        if (!(error instanceof RulesTargetMoved) || this.attempts === MAX_ATTEMPTS) throw error;
      }
    }
  }

  /** Tries again at once while other writers leave the rules as they were planned against: labels, annotations, other keys. */
  private async write(next: NextRules, planned: LiveRules): Promise<void> {
    const { target } = this.ports;
    for (let live = planned; ;) {
      try {
        this.attempts += 1;
        await target.publish(next, live, this.signal);
        return;
      } catch (error) {
        if (!(error instanceof RulesTargetMoved) || this.attempts === MAX_ATTEMPTS) throw error;
      }
      await this.lease.confirm();
      live = await target.read(this.signal);
      if (live.text !== planned.text) throw new RulesTargetMoved();
    }
  }

  /** Chooses the candidate, the withdrawal where that is refused, or the version to restore. */
  private async choose(
    candidate: Candidate,
    plan: Plan,
    situation: Situation,
  ): Promise<Choice | { outcome: RunOutcome } | 'took-seconds'> {
    const { live, latest, now } = situation;
    let intent = candidate;
    if (plan.kind === 'refused') {
      if (this.withdrawal === undefined) {
        this.withdrawal = await this.prepared.withdrawal(plan.reasons.every(isBrokenFinding) ? 'all' : 'recorded');
        return 'took-seconds';
      }
      const reduced = this.withdrawal && (await this.judged(this.withdrawal, live));
      if (reduced === null || isRefused(reduced)) {
        const reasons = [...plan.reasons, ...errorsOf(reduced)];
        return { outcome: refusal({ ...plan, reasons }, candidate, null) };
      }
      intent = reduced;
    }
    const restore = this.order.restore ?? lastingRestore(latest, now);
    if (restore === null) return { next: intent, restore };
    const text = await this.restored(restore, intent, situation);
    if (text === 'took-seconds') return text;
    const reasons = errorsOf(text);
    if (reasons.length === 0) return { next: text, restore };
    if (this.order.restore) return { outcome: { kind: 'refused', reasons, awaits: null, publication: null } };
    return { next: intent, restore: null };
  }

  /** The version to restore; an error among its findings means that it may not be. */
  private async restored(
    restore: Restore,
    intent: Candidate,
    { live, latest }: Situation,
  ): Promise<Candidate | 'took-seconds'> {
    const { history, preparer } = this.ports;
    const former = await history.find(restore.version);
    if (former === null) throw new Error(`publication ${restore.version} does not exist`);
    const key = `${intent.hash} ${latest?.version}`;
    const change = this.changes.get(key);
    if (change === undefined) {
      const fromIntent = await preparer.compare(intent.text, former.text);
      const fromPublished = await preparer.compare(latest?.text ?? '', former.text);
      this.changes.set(key, { fromIntent, fromPublished });
      return 'took-seconds';
    }
    const candidate = restoredCandidate(former, intent, change.fromPublished);
    const finding = unreadableFinding(former) ?? contradiction(restore, change.fromIntent);
    return finding ? { ...candidate, findings: [finding] } : this.judged(candidate, live);
  }

  /** Adds what target and engine say of a text. A text that is live already fits. */
  private async judged(candidate: Candidate, live: LiveRules): Promise<Candidate> {
    const { history, target } = this.ports;
    const known = (await history.isBroken(candidate.hash)) ? withBrokenFinding(candidate) : candidate;
    if (known.text === live.text) return known;
    // What was proved has been read.
    const unreadable = candidate === this.prepared.candidate ? null : unreadableFinding(known);
    if (unreadable !== null) return { ...known, findings: [...known.findings, unreadable] };
    return withCapacityFindings(known, live.text, target.limitBytes);
  }

  private outcome(
    plan: Plan,
    candidate: Candidate,
    restore: Restore | null,
    publication: Publication,
    isNew: boolean,
  ): RunOutcome {
    if (plan.kind === 'refused' && this.order.restore === undefined) {
      return refusal(plan, candidate, isNew ? publication : null);
    }
    const reasons = restore === null ? [] : [restoredFinding(restore)];
    return { kind: isNew ? 'applied' : 'no_change', publication, reasons };
  }
}

function errorsOf(candidate: Candidate | null): Finding[] {
  return candidate?.findings.filter(isError) ?? [];
}

type Refusal = Extract<Plan, { kind: 'refused' }>;

/** @param publication the withdrawal that this run published; null: none */
function refusal(
  { reasons, awaitsApproval }: Refusal,
  { hash }: Candidate,
  publication: Publication | null,
): RunOutcome {
  return { kind: 'refused', reasons, awaits: awaitsApproval ? hash : null, publication };
}

function draftOf(
  candidate: Candidate,
  live: LiveRules,
  { trigger, by }: RunOrder,
  how: Pick<PublicationDraft, 'isWithdrawal' | 'restored' | 'begunAt' | 'isWritten' | 'edit'>,
): PublicationDraft {
  const { text, hash, rules, bytes, findings, snapshot, snapshotHash, at, position, compiler, access, changedAt } =
    candidate;
  return {
    text,
    hash,
    rules,
    bytes,
    diff: diffRules(live.text, text),
    access,
    checks: findings,
    trigger,
    triggeredBy: by.actor?.id ?? null,
    snapshot,
    snapshotHash,
    snapshotAt: at,
    position,
    compiler,
    changedAt,
    isFound: false,
    after: live.written?.generation ?? 0,
    ...how,
  };
}

function digest(text: string | null): string | null {
  return text === null ? null : createHash('sha256').update(text).digest('hex');
}
