import { createHash } from 'node:crypto';
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { Clock } from '../kernel/clock.js';
import { diffRules } from '../trino-rules/diff/rules-diff.js';
import { type Finding, isError } from '../trino-rules/document/finding.js';
import { CandidateService, type Prepared } from './candidate.service.js';
import { withCapacityFindings } from './capacity-findings.js';
import { type Candidate, isRefused } from './domain/candidate.js';
import { type PublicationDraft, PublicationHistory } from './domain/publication-history.js';
import {
  failureOf,
  type RunOutcome,
  type Plan,
  planPublication,
  type Publication,
  type Trigger,
} from './domain/publication.js';
import { type LiveRules, RulesTarget, RulesTargetMoved } from './domain/rules-target.js';
import { type Lease, SyncLock } from './domain/sync-lock.js';
import { RunReportsService } from './run-reports.service.js';

/** Trigger, actor and lock timeout of a run. */
export interface RunOrder {
  trigger: Trigger;
  by: AuditContext;
  /** How long to wait for a run that holds the lock. */
  lockTimeoutMs: number;
}

/** `nextExpiry`: when the first of the grants expires. */
export type RunResult = { kind: 'busy' } | { kind: 'ended'; outcome: RunOutcome; nextExpiry: Date | null };

/** How a run ended, before it is reported. `edit`: the live text was edited by hand; undefined: it was not. */
interface Ending {
  outcome: RunOutcome;
  edit: { textHash: string | null } | undefined;
}

/** A run's time budget for the target, and its attempts when another writer changes the target meanwhile. */
const TARGET_MS = 30_000;
const MAX_ATTEMPTS = 10;

/** Compiles the snapshot into proved rules and publishes them: plan, check, apply, record. */
@Injectable()
export class AclSyncService implements BeforeApplicationShutdown {
  private readonly running = new Set<Promise<unknown>>();

  constructor(
    private readonly candidates: CandidateService,
    private readonly target: RulesTarget,
    private readonly history: PublicationHistory,
    private readonly lock: SyncLock,
    private readonly reports: RunReportsService,
    private readonly clock: Clock,
  ) {}

  /** One run at a time in all replicas and commands. Every failure is a recorded outcome. */
  async run(order: RunOrder): Promise<RunResult> {
    const run = this.runWhenLocked(order);
    this.running.add(run);
    return run.finally(() => this.running.delete(run));
  }

  /** Includes runs whose client has disconnected: they end before the database connections close. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.allSettled(this.running);
  }

  private async runWhenLocked(order: RunOrder): Promise<RunResult> {
    const held = await this.lock.whileHeld(order.lockTimeoutMs, (lease) => this.runLocked(order, lease));
    return held.kind === 'busy' ? held : held.result;
  }

  private async runLocked(order: RunOrder, lease: Lease): Promise<RunResult> {
    const startedAt = this.clock.now();
    let candidate: Candidate | null = null;
    let ending: Ending;
    try {
      const prepared = await this.candidates.current();
      candidate = prepared.candidate;
      ending = await this.publish(prepared, order, lease);
    } catch (error) {
      ending = { outcome: { kind: 'failed', failure: failureOf(error) }, edit: undefined };
    }
    await this.reports.record({ ...order, ...ending, startedAt });
    return { kind: 'ended', outcome: ending.outcome, nextExpiry: candidate?.nextExpiry ?? null };
  }

  /** Plans against the live text and writes; starts again when another writer changed the target meanwhile. */
  private async publish(prepared: Prepared, order: RunOrder, lease: Lease): Promise<Ending> {
    let signal = AbortSignal.timeout(TARGET_MS);
    let withdrawal: Candidate | null | undefined;
    let edit: Ending['edit'];
    let begun: number | null = null;
    for (let attempt = 1; ; attempt++) {
      const live = await this.target.read(signal);
      await lease.confirm();
      const now = this.clock.now();
      await this.history.settle(live.text, now);
      const latest = await this.history.latest();
      const withCapacity = (candidate: Candidate): Candidate =>
        withCapacityFindings(candidate, live.text, this.target.limitBytes);
      const candidate = withCapacity(prepared.candidate);
      const plan = planPublication(candidate, live, latest);
      if (plan.drift) edit = { textHash: digest(live.text) };
      let next = candidate;
      if (plan.kind === 'refused') {
        if (withdrawal === undefined) {
          withdrawal = await prepared.withdrawal();
          signal = AbortSignal.timeout(TARGET_MS);
          continue; // it took seconds, in which the target may have changed or the lock been lost
        }
        // A text that is live already fits.
        const reduced = withdrawal === null || withdrawal.text === live.text ? withdrawal : withCapacity(withdrawal);
        if (reduced === null || isRefused(reduced)) {
          const reasons = [...plan.reasons, ...errorsOf(reduced)];
          return { outcome: refusal({ ...plan, reasons }, candidate, null), edit };
        }
        next = reduced;
      }
      const ended = (publication: Publication, isNew: boolean): Ending => {
        if (plan.kind === 'refused') return { outcome: refusal(plan, candidate, isNew ? publication : null), edit };
        return { outcome: { kind: isNew ? 'applied' : 'no_change', publication }, edit };
      };
      if (live.text === next.text && latest?.text === next.text) {
        // Our own write, whose answer was lost: the retry found the target changed.
        return ended(latest, latest.version === begun);
      }
      begun = await this.history.begin(draftOf(next, live, order, { isWithdrawal: next !== candidate, begunAt: now }));
      try {
        // A live text that another database published is adopted as it is.
        const isNew = live.text !== next.text;
        if (isNew) {
          const { text, hash } = next;
          await this.target.publish({ text, hash, generation: begun, publishedAt: now }, live, signal);
        }
        const publication = await this.history.confirm(begun, this.clock.now());
        return ended(publication, isNew);
      } catch (error) {
        if (!(error instanceof RulesTargetMoved) || attempt === MAX_ATTEMPTS) throw error;
      }
    }
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
  how: { isWithdrawal: boolean; begunAt: Date },
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
    ...how,
  };
}

function digest(text: string | null): string | null {
  return text === null ? null : createHash('sha256').update(text).digest('hex');
}
