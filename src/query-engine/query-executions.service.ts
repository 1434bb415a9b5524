import { Injectable } from '@nestjs/common';
import { Clock, Timers } from '../kernel/clock.js';
import { IdSource } from '../kernel/ids.js';
import { singleFlight } from '../kernel/promises.js';
import { Log } from '../platform/log/log.js';
import { Settings } from '../platform/settings/settings.js';
import { type ExecutionState, newExecution, type NewQuery, startedQuery } from './domain/execution-state.js';
import { ByteBudget, type RowsResult } from './domain/held-page.js';
import { endingWithCode, type Query } from './domain/query.js';
import type { StatementPage } from './domain/statement-page.js';
import type { ExecutionResources } from './page-fetch.js';
import { QueryExecution } from './query-execution.js';
import { QueryMetrics } from './query.metrics.js';
import { QueryStore } from './query.store.js';
import { TrinoStatementClient } from './trino-statement-client.js';

/** Milliseconds between two ticks, which renew the leases. A lease lasts 30 s (see the store): a replica that misses six ticks counts as dead. */
const TICK_INTERVAL = 5_000;
/** Milliseconds for which the last page of a finished query can be requested again. */
const LAST_PAGE_RETENTION = 60_000;
const SWEEP_INTERVAL = 3_600_000;
const MAX_ADOPTIONS_PER_TICK = 20;
const DAY_MS = 86_400_000;

/**
 * Executes the queries of this replica, and adopts those of replicas that died. A lease in the database says which replica
 * executes a query, and QUERY_MAX_SECONDS limits the execution.
 */
@Injectable()
export class QueryExecutions {
  readonly replica: string;
  readonly #executions = new Map<string, QueryExecution>();
  private readonly resources: ExecutionResources;
  /** Unfinished work that ticks have started. */
  private readonly pendingWork = new Set<Promise<unknown>>();
  /** Claims in progress by query id. Concurrent calls share one claim: a second one would find the query claimed, but no execution yet. */
  private readonly pendingClaims = new Map<string, Promise<QueryExecution | null>>();
  /** Ids of queries that `begin` is storing. Ticks skip these queries, because their leases may not exist yet. */
  private readonly unstoredIds = new Set<string>();
  /** Ids of users whose history may have grown beyond what is kept. */
  private readonly submitterIds = new Set<number>();
  private isStopping = false;
  private lastSweepAt = -SWEEP_INTERVAL;

  constructor(
    client: TrinoStatementClient,
    private readonly store: QueryStore,
    private readonly timers: Timers,
    private readonly clock: Clock,
    private readonly log: Log,
    private readonly settings: Settings,
    idSource: IdSource,
    metrics: QueryMetrics,
  ) {
    const replica = (this.replica = idSource.uuid());
    const { maxRows, maxHeldBytes, maxPageBytes } = settings.queries;
    const budget = new ByteBudget(maxHeldBytes, maxPageBytes, (owner) => this.releaseReadPages(owner));
    metrics.exposeGauges(
      () => this.runningCount,
      () => budget.bytes,
      maxHeldBytes,
    );
    this.resources = { client, store, timers, clock, log, metrics, budget, replica, maxRows };
  }

  /** Executes queries until the signal is aborted. Releases them at the end, so that another replica can continue them on the engine. */
  async run(signal: AbortSignal): Promise<void> {
    const stopExecutions = (): void => {
      this.isStopping = true;
      this.releaseAll();
    };
    signal.addEventListener('abort', stopExecutions, { once: true });
    while (!signal.aborted) {
      await this.tick().catch((error: unknown) => this.warn(error));
      await this.timers.wait(TICK_INTERVAL, signal).catch(() => undefined);
    }
    await this.handOver();
    await this.untilIdle();
  }

  /** Stores a query with the answer to its POST and begins to execute it. Null: the query has ended already. @throws as `QueryExecution.begin` */
  async begin(query: NewQuery, page: StatementPage): Promise<Query | null> {
    const execution = this.addExecution(newExecution(query));
    this.unstoredIds.add(query.id);
    this.submitterIds.add(query.userId);
    try {
      const hasStarted = await execution.begin(query, page, this.settings.queries.maxRunningPerUser);
      return hasStarted ? startedQuery(query, execution.state) : null;
    } catch (error) {
      this.forgetQuery(query.id);
      throw error;
    } finally {
      this.unstoredIds.delete(query.id);
      if (this.isStopping) await this.handOver(); // accepted while this replica stops
    }
  }

  /** Whether this replica executes the query and the query belongs to the user. */
  isExecutedFor(userId: number, id: string): boolean {
    const localExecution = this.#executions.get(id);
    return localExecution?.isReleased() === false && localExecution.state.userId === userId;
  }

  /** The rows of a query beginning with row `startRow`. If another replica executes the query, takes it over first. Null: another replica has ended it. */
  async rows(id: string, startRow: number, limit: number): Promise<RowsResult | null> {
    const localExecution = this.#executions.get(id);
    const result = (await localExecution?.rows(startRow, limit)) ?? null;
    if (result?.kind === 'page' || (localExecution !== undefined && localExecution.ending !== null)) return result;
    if (this.isStopping) return null;
    const execution = await this.takeOver(id);
    return execution === null || execution === localExecution ? result : execution.rows(startRow, limit);
  }

  /** Releases all queries, so that other replicas can execute them. */
  private async handOver(): Promise<void> {
    this.releaseAll();
    await this.store.release(this.replica).catch((error: unknown) => this.warn(error));
  }

  private releaseAll(): void {
    for (const execution of this.#executions.values()) execution.release();
  }

  private get runningCount(): number {
    return Array.from(this.#executions.values()).filter((execution) => !execution.isReleased()).length;
  }

  /** Stops executing a query whose end is stored, and releases its pages. */
  forgetQuery(id: string): void {
    const localExecution = this.#executions.get(id);
    localExecution?.release();
    localExecution?.releasePages();
    this.#executions.delete(id);
  }

  /** Makes room for a user's new pages by releasing the pages that have been read, which are kept only in case they are requested again. */
  private releaseReadPages(runAs: string): void {
    for (const [id, execution] of this.#executions) {
      if (execution.state.runAs !== runAs) continue;
      if (execution.ending?.state !== 'finished') execution.releaseReadPage();
      else if (!execution.pages.some((page) => page.isNeeded)) this.forgetQuery(id);
    }
  }

  /**
   * Called every 5 s. Renews the leases and starts work that is due. Waits for the leases only, so that a slow answer of the engine for one
   * query neither delays other queries nor lets leases expire.
   */
  async tick(): Promise<void> {
    const storedExecutions = [...this.#executions].filter(([id]) => !this.unstoredIds.has(id));
    const leases = new Map((await this.store.renew(this.replica)).map(({ id, isActive }) => [id, isActive]));
    for (const [id, execution] of storedExecutions) this.trackWork(this.tickOne(id, execution, leases.get(id)));
    // Takes over queries that are leased to this replica but not executed here. This happens if the database stored a lease, but its answer was lost.
    for (const id of leases.keys()) if (!this.#executions.has(id)) this.trackWork(this.takeOver(id));
    this.trackWork(this.forgetOldest());
    this.trackWork(this.adoptExpiredQueries());
    this.trackWork(this.removeOldQueries());
  }

  /** Resolves when all work that ticks have started is done. */
  async untilIdle(): Promise<void> {
    while (this.pendingWork.size > 0) await Promise.all(this.pendingWork);
  }

  private trackWork(work: Promise<unknown>): void {
    const pending = work.catch((error: unknown) => this.warn(error)).finally(() => this.pendingWork.delete(pending));
    this.pendingWork.add(pending);
  }

  /** Does the work of one tick for a query. @param isActive whether the query's user is active; undefined: another replica executes the query, or the query has ended. */
  private async tickOne(id: string, execution: QueryExecution, isActive: boolean | undefined): Promise<void> {
    const timeSinceRelease = this.timers.now() - (execution.releasedAt ?? Infinity);
    if (timeSinceRelease > LAST_PAGE_RETENTION) this.forgetQuery(id);
    if (execution.isReleased()) return;
    if (isActive === undefined) execution.release();
    else if (isActive) await execution.tick();
    else await execution.end(endingWithCode('account_deactivated'));
  }

  private readonly forgetOldest = singleFlight(async () => {
    for (const userId of this.submitterIds) {
      this.submitterIds.delete(userId);
      await this.store.forgetOldestQueries(userId);
    }
  });

  private readonly adoptExpiredQueries = singleFlight(async () => {
    for (const state of await this.store.claimExpired(this.replica, MAX_ADOPTIONS_PER_TICK)) {
      const execution = this.addExecution(state);
      this.log.info('adopted a query whose replica died', { query_id: state.id });
      // A page that waits for a reader is fetched again only when the reader comes.
      if (state.waitingSince === null || state.waitingPagePath === null) void execution.resume();
    }
  });

  private readonly removeOldQueries = singleFlight(async () => {
    if (this.timers.now() - this.lastSweepAt < SWEEP_INTERVAL) return;
    this.lastSweepAt = this.timers.now();
    await this.store.removeEnded(new Date(this.clock.now().getTime() - this.settings.queries.retentionDays * DAY_MS));
  });

  /** Logs only the error's message, because a database error contains the statement's values, such as paths. */
  private warn(error: unknown): void {
    this.log.warn('query execution tick failed', { reason: error instanceof Error ? error.message : 'unknown' });
  }

  /** Takes a query over to this replica. Null: the query has ended. */
  private takeOver(id: string): Promise<QueryExecution | null> {
    const pendingClaim = this.pendingClaims.get(id);
    if (pendingClaim !== undefined) return pendingClaim;
    const newClaim = this.claim(id).finally(() => this.pendingClaims.delete(id));
    this.pendingClaims.set(id, newClaim);
    return newClaim;
  }

  private async claim(id: string): Promise<QueryExecution | null> {
    // The state is read from the database, because another replica may have executed the query meanwhile.
    const claimedQuery = await this.store.claim(id, this.replica);
    if (claimedQuery === null) return null;
    const localExecution = this.#executions.get(id);
    const isStillExecuted = claimedQuery.wasExecutedHere && localExecution?.isReleased() === false;
    return isStillExecuted ? localExecution : this.addExecution(claimedQuery.state);
  }

  /** Begins an execution with this state, and releases this replica's earlier execution of the same query, if there is one. */
  private addExecution(state: ExecutionState): QueryExecution {
    this.#executions.get(state.id)?.release();
    const execution = new QueryExecution(this.resources, state);
    this.#executions.set(state.id, execution);
    return execution;
  }
}
