import { Injectable } from '@nestjs/common';
import { Clock, Timers } from '../kernel/clock.js';
import { Ids } from '../kernel/ids.js';
import { singleFlight } from '../kernel/promises.js';
import { Log } from '../platform/log/log.js';
import { Settings } from '../platform/settings/settings.js';
import { type ExecutionState, newExecution, type NewQuery, startedQuery } from './domain/execution-state.js';
import { ByteBudget, type RowsResult } from './domain/held-page.js';
import { endingByCode, type Query } from './domain/query.js';
import type { StatementPage } from './domain/statement-page.js';
import { type ExecutionResources, QueryExecution } from './query-execution.js';
import { QueryMetrics } from './query.metrics.js';
import { QueryStore } from './query.store.js';
import { TrinoStatementClient } from './trino-statement-client.js';

/** Milliseconds between two ticks. A lease lasts 30 s (see the store), so a replica that misses six ticks counts as dead. */
const TICK = 5_000;
/** Milliseconds for which the last page of a finished query can be requested again. */
const LAST_PAGE_KEPT = 60_000;
const SWEEP_EVERY = 3_600_000;
const ADOPTED_AT_ONCE = 20;
const DAY = 86_400_000;

/**
 * Executes the queries of this replica, and adopts those of replicas that died. The work's owner is the lease in the database, its deadline
 * QUERY_MAX_SECONDS, and its record the query itself.
 */
@Injectable()
export class QueryExecutions {
  /** Id of this replica. */
  readonly replica: string;
  readonly #executions = new Map<string, QueryExecution>();
  private readonly resources: ExecutionResources;
  /** Unfinished work that ticks have started. */
  private readonly underWay = new Set<Promise<unknown>>();
  /** Claims in progress, one for each query: a second one would find the query claimed but not its execution. */
  private readonly claims = new Map<string, Promise<QueryExecution | null>>();
  /** Executions that are not stored yet. */
  private readonly beginning = new Set<string>();
  /** Users whose history may have grown beyond what is kept. */
  private readonly submitters = new Set<number>();
  private isStopping = false;
  private sweptAt = -SWEEP_EVERY;

  constructor(
    client: TrinoStatementClient,
    private readonly store: QueryStore,
    private readonly timers: Timers,
    private readonly clock: Clock,
    private readonly log: Log,
    private readonly settings: Settings,
    ids: Ids,
    metrics: QueryMetrics,
  ) {
    const replica = (this.replica = ids.uuid());
    const { maxRows, maxHeldBytes, maxPageBytes } = settings.queries;
    const budget = new ByteBudget(maxHeldBytes, maxPageBytes, (owner) => this.releaseFinished(owner));
    metrics.exposeHeld({ running: () => this.running, bytes: () => budget.bytes, limitBytes: maxHeldBytes });
    this.resources = { client, store, timers, clock, log, metrics, budget, replica, maxRows };
  }

  /** Executes queries until the signal is aborted. Then another replica, or the next start, can continue them while the engine keeps them. */
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
    await this.untilIdle();
  }

  /** Stores a query with the answer to its POST and begins to execute it. Null: it has ended at once. @throws as QueryExecution does */
  async begin(query: NewQuery, page: StatementPage): Promise<Query | null> {
    const execution = this.execute(newExecution(query));
    this.beginning.add(query.id);
    this.submitters.add(query.userId);
    try {
      const isRunning = await execution.begin(query, page, this.settings.queries.maxRunningPerUser);
      return isRunning ? startedQuery(query, execution.state) : null;
    } catch (error) {
      this.forgetQuery(query.id);
      throw error;
    } finally {
      this.beginning.delete(query.id);
      if (this.isStopping) await this.handOver(); // accepted while this replica stops
    }
  }

  /** Whether this replica executes the query, and it belongs to that user. */
  isExecutedFor(userId: number, id: string): boolean {
    const present = this.#executions.get(id);
    return present?.isReleased() === false && present.state.userId === userId;
  }

  /** The rows of a query beginning with row `from`. Takes the query over from another replica. Null: another replica has ended it. */
  async rows(id: string, from: number, limit: number): Promise<RowsResult | null> {
    const present = this.#executions.get(id);
    const result = (await present?.rows(from, limit)) ?? null;
    if (result?.kind === 'page' || (present !== undefined && present.ending !== null)) return result;
    if (this.isStopping) return null;
    const execution = await this.takeOver(id);
    return execution === null || execution === present ? result : execution.rows(from, limit);
  }

  /** Releases all queries, so that other replicas can execute them. */
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

  /** Releases a query that was ended in the store, with its pages. */
  forgetQuery(id: string): void {
    const present = this.#executions.get(id);
    present?.release();
    present?.releasePages();
    this.#executions.delete(id);
  }

  /** Releases the owner's pages that are kept only in case they are requested again, to make room for other pages of that owner. */
  private releaseFinished(runAs: string): void {
    for (const [id, execution] of this.#executions)
      if (execution.ending?.state === 'finished' && execution.state.runAs === runAs) this.forgetQuery(id);
  }

  /**
   * Called every 5 s. Renews the leases and starts work that is due. Waits for the leases only, so that a slow answer of the engine for one
   * query neither delays other queries nor lets leases expire.
   */
  async tick(): Promise<void> {
    const present = [...this.#executions].filter(([id]) => !this.beginning.has(id));
    const leases = new Map((await this.store.renew(this.replica)).map(({ id, isActive }) => [id, isActive]));
    for (const [id, execution] of present) this.track(this.tickOne(id, execution, leases.get(id)));
    // A lease without an execution: the query was stored, but the database's answer was lost.
    for (const id of leases.keys()) if (!this.#executions.has(id)) this.track(this.takeOver(id));
    this.track(this.forgetOldest());
    this.track(this.adoptExpired());
    this.track(this.sweep());
  }

  /** Resolves when all work that ticks have started is done. */
  async untilIdle(): Promise<void> {
    while (this.underWay.size > 0) await Promise.all(this.underWay);
  }

  private track(work: Promise<unknown>): void {
    const done = work.catch((error: unknown) => this.warn(error)).finally(() => this.underWay.delete(done));
    this.underWay.add(done);
  }

  /** @param isActive whether the query's user is active; undefined: another replica executes the query, or it has ended. */
  private async tickOne(id: string, execution: QueryExecution, isActive: boolean | undefined): Promise<void> {
    const releasedFor = this.timers.now() - (execution.releasedAt ?? Infinity);
    if (releasedFor > LAST_PAGE_KEPT) this.forgetQuery(id);
    if (execution.isReleased()) return;
    if (isActive === undefined) execution.release();
    else if (isActive) await execution.tick();
    else await execution.end(endingByCode('account_deactivated'));
  }

  private readonly forgetOldest = singleFlight(async () => {
    for (const userId of this.submitters) {
      this.submitters.delete(userId);
      await this.store.forgetOldest(userId);
    }
  });

  private readonly adoptExpired = singleFlight(async () => {
    for (const state of await this.store.claimExpired(this.replica, ADOPTED_AT_ONCE)) {
      const execution = this.execute(state);
      this.log.info('adopted a query whose replica died', { query_id: state.id });
      // A page that waits for a reader is fetched again only when the reader comes.
      if (state.waitingSince === null || state.pagePath === null) void execution.resume();
    }
  });

  private readonly sweep = singleFlight(async () => {
    if (this.timers.now() - this.sweptAt < SWEEP_EVERY) return;
    this.sweptAt = this.timers.now();
    await this.store.removeEnded(new Date(this.clock.now().getTime() - this.settings.queries.retentionDays * DAY));
  });

  /** Logs only the error's message, because a database error contains the statement's values, such as paths. */
  private warn(error: unknown): void {
    this.log.warn('query execution tick failed', { reason: error instanceof Error ? error.message : 'unknown' });
  }

  /** Takes a query over to this replica. Null: it has ended. */
  private takeOver(id: string): Promise<QueryExecution | null> {
    const underWay = this.claims.get(id);
    if (underWay !== undefined) return underWay;
    const claim = this.claim(id).finally(() => this.claims.delete(id));
    this.claims.set(id, claim);
    return claim;
  }

  private async claim(id: string): Promise<QueryExecution | null> {
    // The state is read from the database, because another replica may have executed the query meanwhile.
    const claimed = await this.store.claim(id, this.replica);
    if (claimed === null) return null;
    const present = this.#executions.get(id);
    const isLiving = claimed.wasOwn && present?.isReleased() === false;
    return isLiving ? present : this.execute(claimed.state);
  }

  /** Begins an execution with this state. Replaces an old one of the query, which another replica had taken over meanwhile. */
  private execute(state: ExecutionState): QueryExecution {
    this.#executions.get(state.id)?.release();
    const execution = new QueryExecution(this.resources, state);
    this.#executions.set(state.id, execution);
    return execution;
  }
}
