import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import type { Span } from '@opentelemetry/api';
import { Clock } from '../kernel/clock.js';
import { traced } from '../platform/operations/tracing.js';
import { CandidateService } from './candidate.service.js';
import { PublicationHistory } from './domain/publication-history.js';
import { failureOf, type RunEnding, type RunOrder, type RunOutcome, type Trigger } from './domain/publication.js';
import { lastingRestore } from './domain/restore.js';
import { RulesPreparer } from './domain/rules-preparer.js';
import { RulesTarget } from './domain/rules-target.js';
import { type Lease, SyncLock } from './domain/sync-lock.js';
import { PublishingRun } from './publishing-run.js';
import { RunReportsService } from './run-reports.service.js';

export type RunResult = { kind: 'busy' } | { kind: 'ended'; outcome: RunOutcome };

/** Runs that no request causes: each begins a trace of its own. */
const ROOTS: ReadonlySet<Trigger> = new Set(['schedule', 'expiry', 'rollback']);

/** Compiles the snapshot into proved rules and publishes them: plan, check, apply, record. */
@Injectable()
export class AclSyncService implements BeforeApplicationShutdown {
  private readonly running = new Set<Promise<unknown>>();
  private readonly listeners = new Set<(nextEnd: Date | null) => void>();

  constructor(
    private readonly candidates: CandidateService,
    private readonly preparer: RulesPreparer,
    private readonly target: RulesTarget,
    private readonly history: PublicationHistory,
    private readonly lock: SyncLock,
    private readonly reports: RunReportsService,
    private readonly clock: Clock,
  ) {}

  /** One run at a time in all replicas and commands. Every failure is a recorded outcome. */
  async run(order: RunOrder): Promise<RunResult> {
    const { trigger } = order;
    const options = { root: ROOTS.has(trigger), attributes: { 'grantline.trigger': trigger } };
    const run = traced('rules run', (span) => this.runWhenLocked(order, span), options);
    this.running.add(run);
    return run.finally(() => this.running.delete(run));
  }

  /** Notifies of when the first grant expires or the restore ends, as each run of this process that did not fail has read it. */
  subscribe(listener: (nextEnd: Date | null) => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** The same, without a run. */
  async nextEnd(): Promise<Date | null> {
    const { nextExpiry } = await this.candidates.read();
    return earlier(nextExpiry, lastingRestore(await this.history.latest(), this.clock.now())?.until ?? null);
  }

  /** Includes runs whose client has disconnected: they end before the database connections close. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.allSettled(this.running);
  }

  private async runWhenLocked(order: RunOrder, span: Span): Promise<RunResult> {
    const held = await this.lock.whileHeld(order.lockTimeoutMs, (lease) => this.runLocked(order, lease));
    const result = held.kind === 'busy' ? held : held.result;
    span.setAttribute('grantline.outcome', result.kind === 'busy' ? 'busy' : result.outcome.kind);
    return result;
  }

  private async runLocked(order: RunOrder, lease: Lease): Promise<RunResult> {
    const startedAt = this.clock.now();
    let ending: RunEnding;
    try {
      const reading = await this.candidates.read();
      const { target, history, preparer, clock } = this;
      const ports = {
        target,
        history,
        preparer,
        clock,
        prepare: (live: string | null) => this.candidates.prepare(reading, null, live),
      };
      ending = await new PublishingRun(ports, reading, order, lease).publish();
      this.announce(earlier(reading.nextExpiry, restoreEndOf(ending, clock.now())));
    } catch (error) {
      ending = { outcome: { kind: 'failed', failure: failureOf(error) }, edit: null };
    }
    await this.reports.record({ ...order, ...ending, startedAt });
    return { kind: 'ended', outcome: ending.outcome };
  }

  private announce(nextEnd: Date | null): void {
    for (const listener of this.listeners) listener(nextEnd);
  }
}

function restoreEndOf({ outcome }: RunEnding, now: Date): Date | null {
  const publication = outcome.kind === 'failed' ? null : outcome.publication;
  return lastingRestore(publication, now)?.until ?? null;
}

function earlier(a: Date | null, b: Date | null): Date | null {
  if (a === null || b === null) return a ?? b;
  return a < b ? a : b;
}
