import { createHash } from 'node:crypto';
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import type { AuditContext } from '../grants/domain/audit-context.js';
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

/** What makes a run happen. */
export interface RunOrder {
  trigger: Trigger;
  by: AuditContext;
  /** How long to wait for a run that is under way. */
  patienceMs: number;
}

/** `nextExpiry`: when the first of the grants ends by itself. */
export type RunResult = { kind: 'busy' } | { kind: 'ended'; outcome: RunOutcome; nextExpiry: Date | null };

/** How a run went, before it is reported. `edit`: the live text that somebody wrote by hand; undefined: nobody did. */
interface Ending {
  outcome: RunOutcome;
  edit: { textHash: string | null } | undefined;
}

/** What a run may spend on the target in all, and how often somebody else may write in between. */
const TARGET_MS = 30_000;
const TRIES = 10;

/** Turns what people may see into rules that are proved, and publishes them: plan, check, apply, record. */
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

  /** One run, alone among all replicas and commands. What goes wrong in it is its outcome, and recorded. */
  async run(order: RunOrder): Promise<RunResult> {
    const run = this.whenAlone(order);
    this.running.add(run);
    return run.finally(() => this.running.delete(run));
  }

  /** Also runs whose client has gone: they end before the database connections close. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.allSettled(this.running);
  }

  private async whenAlone(order: RunOrder): Promise<RunResult> {
    const held = await this.lock.whileHeld(order.patienceMs, (lease) => this.alone(order, lease));
    return held.kind === 'busy' ? held : held.result;
  }

  private async alone(order: RunOrder, lease: Lease): Promise<RunResult> {
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

  /** Decides by what is live, and writes; from the top again when somebody else wrote in between. */
  private async publish(prepared: Prepared, order: RunOrder, lease: Lease): Promise<Ending> {
    let signal = AbortSignal.timeout(TARGET_MS);
    let withdrawal: Candidate | null | undefined;
    let edit: Ending['edit'];
    let begun: number | null = null;
    for (let tries = 1; ; tries++) {
      const live = await this.target.read(signal);
      await lease.confirm();
      const now = this.clock.now();
      await this.history.settle(live.text, now);
      const latest = await this.history.latest();
      const fits = (candidate: Candidate): Candidate =>
        withCapacityFindings(candidate, live.text, this.target.limitBytes);
      const candidate = fits(prepared.candidate);
      const plan = planPublication(candidate, live, latest);
      if (plan.drift) edit = { textHash: digest(live.text) };
      let next = candidate;
      if (plan.kind === 'refused') {
        if (withdrawal === undefined) {
          withdrawal = await prepared.withdrawal();
          signal = AbortSignal.timeout(TARGET_MS);
          continue; // it takes seconds, in which the target may have changed and the lock been lost
        }
        // What is live already need not fit once more.
        const less = withdrawal === null || withdrawal.text === live.text ? withdrawal : fits(withdrawal);
        if (less === null || isRefused(less)) {
          const reasons = [...plan.reasons, ...errorsOf(less)];
          return { outcome: refusal({ ...plan, reasons }, candidate, null), edit };
        }
        next = less;
      }
      const ended = (publication: Publication, isNew: boolean): Ending => {
        if (plan.kind === 'refused') return { outcome: refusal(plan, candidate, isNew ? publication : null), edit };
        return { outcome: { kind: isNew ? 'applied' : 'no_change', publication }, edit };
      };
      if (live.text === next.text && latest?.text === next.text) {
        // Ours, although the answer to the writing was lost and the repetition found the target moved.
        return ended(latest, latest.version === begun);
      }
      begun = await this.history.begin(draftOf(next, live, order, { isWithdrawal: next !== candidate, begunAt: now }));
      try {
        // A text that is live without having been published here (another database's) is taken over as it is.
        const isNew = live.text !== next.text;
        if (isNew) {
          const { text, hash } = next;
          await this.target.publish({ text, hash, generation: begun, publishedAt: now }, live, signal);
        }
        const publication = await this.history.confirm(begun, this.clock.now());
        return ended(publication, isNew);
      } catch (error) {
        if (!(error instanceof RulesTargetMoved) || tries === TRIES) throw error;
      }
    }
  }
}

function errorsOf(candidate: Candidate | null): Finding[] {
  return candidate?.findings.filter(isError) ?? [];
}

type Refusal = Extract<Plan, { kind: 'refused' }>;

/** @param publication what went out all the same */
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
