import { Injectable } from '@nestjs/common';
import { Clock } from '../kernel/clock.js';
import { Ids } from '../kernel/ids.js';
import { Timers } from '../kernel/timers.js';
import { Log } from '../platform/log.js';
import { Settings } from '../platform/settings.js';
import { PageBudget } from './domain/page-budget.js';
import { endedBy } from './domain/query.js';
import { type ExecutionState, type QueryProgress, QueryStore } from './domain/query-store.js';
import { StatementClient } from './domain/statement-client.js';
import type { StatementPage } from './domain/statement-page.js';
import { type ExecutionResources, QueryExecution } from './query-execution.js';
import { QueryMetrics } from './query.metrics.js';
import type { RowsResult } from './rows-page.js';

/** Milliseconds between two ticks. A lease lasts 30 s (see the store): a replica that misses six is taken for dead. */
const TICK = 5_000;
/** Milliseconds in which the last page of a finished query can be asked for again. */
const LAST_PAGE_KEPT = 60_000;
const SWEEP_EVERY = 3_600_000;
const ADOPTED_AT_ONCE = 20;
const DAY = 86_400_000;

/**
 * The queries that this replica executes (background work: its owner is the lease in the database, its deadline
 * QUERY_MAX_SECONDS, its record the query itself). Queries of a replica that died are adopted.
 */
@Injectable()
export class QueryExecutions {
  /** This replica. */
  readonly replica: string;
  readonly #executions = new Map<string, QueryExecution>();
  private readonly resources: ExecutionResources;
  private isStopping = false;
  private sweptAt = -SWEEP_EVERY;

  constructor(
    client: StatementClient,
    private readonly store: QueryStore,
    private readonly timers: Timers,
    private readonly clock: Clock,
    private readonly log: Log,
    private readonly settings: Settings,
    ids: Ids,
    metrics: QueryMetrics,
  ) {
    this.replica = ids.uuid();
    const { maxRows, maxHeldBytes, maxPageBytes } = settings.queries;
    const budget = new PageBudget(maxHeldBytes, maxPageBytes);
    metrics.expose({ running: () => this.running, bytes: () => budget.bytes, limitBytes: maxHeldBytes });
    this.resources = { client, store, timers, clock, log, replica: this.replica, maxRows, budget, metrics };
  }

  /** Until the signal is aborted. Another replica, or the next start, continues while the engine remembers the statement. */
  async run(signal: AbortSignal): Promise<void> {
    const stop = (): void => {
      this.isStopping = true;
      this.releaseAll();
    };
    signal.addEventListener('abort', stop, { once: true });
    while (!signal.aborted) {
      await this.tick().catch((error: unknown) => this.warn(error));
      await this.timers.wait(TICK, signal).catch(() => undefined);
    }
    await this.handOver();
  }

  /** Executes a query from the answer to its POST on. @returns null: it has ended. @throws EngineFault for rows without columns. */
  async begin(state: ExecutionState, page: StatementPage): Promise<QueryProgress | null> {
    const progress = await this.execute(state).begin(page);
    if (this.isStopping) await this.handOver(); // accepted while this replica stops
    return progress;
  }

  /** The rows of a query from that one on; this replica takes it over if another executes it. Null: it has ended. */
  async rows(id: string, from: number, limit: number): Promise<RowsResult | null> {
    const present = this.#executions.get(id);
    if (present !== undefined) {
      const result = await present.rows(from, limit);
      if (result?.kind === 'page' || present.isFinished) return result;
    }
    if (this.isStopping) return null;
    // Another replica may have executed it meanwhile: only the database knows its newest state.
    const state = await this.store.claim(id, this.replica);
    if (state === null) return null;
    present?.release();
    return this.execute(state).rows(from, limit);
  }

  /** Leaves all queries to another replica. */
  private async handOver(): Promise<void> {
    this.releaseAll();
    await this.store.release(this.replica).catch((error: unknown) => this.warn(error));
  }

  private releaseAll(): void {
    for (const execution of this.#executions.values()) execution.release();
  }

  private get running(): number {
    return Array.from(this.#executions.values()).filter((execution) => !execution.isReleased()).length;
  }

  /** For a query that was ended in the store: releases it, and its pages. */
  forget(id: string): void {
    const present = this.#executions.get(id);
    present?.release();
    present?.forgetPages();
    this.#executions.delete(id);
  }

  /** One round over all executions. Called every 5 s, and by tests. */
  async tick(): Promise<void> {
    const present = [...this.#executions];
    const leases = new Map((await this.store.renew(this.replica)).map(({ id, isActive }) => [id, isActive]));
    await Promise.all(present.map(([id, execution]) => this.tickOne(id, execution, leases.get(id))));
    for (const state of await this.store.claimExpired(this.replica, ADOPTED_AT_ONCE)) await this.adopt(state);
    if (this.timers.now() - this.sweptAt < SWEEP_EVERY) return;
    this.sweptAt = this.timers.now();
    await this.store.removePast(new Date(this.clock.now().getTime() - this.settings.queries.retentionDays * DAY));
  }

  /** @param isActive of its user; undefined: another replica executes the query, or it has ended. */
  private async tickOne(id: string, execution: QueryExecution, isActive: boolean | undefined): Promise<void> {
    if (execution.releasedFor > LAST_PAGE_KEPT) this.forget(id);
    if (execution.isReleased()) return;
    if (isActive === undefined) execution.release();
    else if (isActive) await execution.tick();
    else await execution.end(endedBy('account_deactivated'));
  }

  /** Without the error itself: a database's error carries the values that it was given, and paths are among them. */
  private warn(error: unknown): void {
    this.log.warn('query execution tick failed', { reason: error instanceof Error ? error.message : 'unknown' });
  }

  /** A query without any path had not reached the engine, or was in the dead replica's memory alone: it is lost. */
  private async adopt(state: ExecutionState): Promise<void> {
    const execution = this.execute(state);
    this.log.info('adopted a query whose replica died', { query_id: state.id });
    if (state.nextPath === null && state.pagePath === null) await execution.end(endedBy('query_lost'));
    else if (state.waitingSince === null) void execution.resume();
  }

  private execute(state: ExecutionState): QueryExecution {
    const execution = new QueryExecution(this.resources, state);
    this.#executions.set(state.id, execution);
    return execution;
  }
}
