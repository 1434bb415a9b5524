import type { Span } from '@opentelemetry/api';
import type { Clock, Timers } from '../kernel/clock.js';
import type { LogMarker } from '../kernel/log-marker.js';
import { NamedError } from '../kernel/errors.js';
import { Opaque } from '../kernel/secret.js';
import { serialRunner, singleFlight } from '../kernel/promises.js';
import type { Log } from '../platform/log/log.js';
import { startSpan } from '../platform/operations/tracing.js';
import { EngineFault, type EngineFaultKind } from './domain/engine-error.js';
import { type EngineSession, sessionFor } from './domain/engine-session.js';
import {
  type Action,
  changesBy,
  EXECUTION_TIMEOUTS,
  type ExecutionState,
  judgePage,
  type NewQuery,
  nextAction,
} from './domain/execution-state.js';
import {
  type ByteBudget,
  HeldPage,
  judgeFirstRow,
  type Reservation,
  type RowRange,
  rowsOfEndedQuery,
  type RowsPage,
  type RowsResult,
  uncountedPage,
} from './domain/held-page.js';
import { type Ending, endingByCode, endingByFault, tooManyQueries } from './domain/query.js';
import type { StatementPage } from './domain/statement-page.js';
import type { QueryMetrics } from './query.metrics.js';
import type { QueryStore } from './query.store.js';
import type { TrinoStatementClient } from './trino-statement-client.js';

/** Resources that the executions of one replica share. */
export interface ExecutionResources {
  client: TrinoStatementClient;
  store: QueryStore;
  timers: Timers;
  clock: Clock;
  log: Log;
  metrics: QueryMetrics;
  budget: ByteBudget;
  /** Id of this replica. */
  replica: string;
  /** The most rows of a query; 0: no limit. */
  maxRows: number;
}

/** Pages already hold QUERY_MAX_HELD_BYTES. The page is fetched again at the next tick. */
class BudgetExhausted extends NamedError {}
/** The reader of the previous page holds the user's share: this page is fetched once that reader asks for it. */
class ShareBeingRead extends NamedError {}

const RELEASED = new NamedError('the query is not executed here any more');

/**
 * Executes one query. Fetches pages until one has rows, holds that page, and fetches the next one after it has been read. Stores the state
 * before it asks the engine for the next page, so that another replica can take over at any time. No method waits for another query, and
 * no reader keeps the query from ending.
 */
@Opaque
export class QueryExecution {
  private readonly session: EngineSession;
  private readonly span: Span;
  private readonly released = new AbortController();
  /** When this replica stopped executing the query, by Timers; null: it still executes it. */
  releasedAt: number | null = null;
  /** How this replica ended the query; null: it has not. The last page of a finished query can still be requested again. */
  ending: Ending | null = null;
  /** The page with unread rows; null: none is in memory. */
  private current: HeldPage | null = null;
  /** The page before the current one, kept until newer rows are handed out. */
  private previous: HeldPage | null = null;
  /** Serves readers one after the other, each for at most the time that a request for rows waits. */
  private readonly readInTurn = serialRunner();
  /** Whether a request waits for rows that were not handed out before. */
  private isAwaited = false;
  private readonly saveInTurn = serialRunner();
  /** Number of changes of the state so far, and of stored ones. */
  private changes = 0;
  private saved = 0;
  private hasSavedColumns: boolean;
  private keptAliveAt: number;

  constructor(
    private readonly resources: ExecutionResources,
    readonly state: ExecutionState,
  ) {
    const { runAs, catalog, schema, traceToken, columns } = state;
    this.span = startSpan('engine statement', { attributes: { 'grantline.query_id': state.id } });
    this.session = sessionFor(runAs, { catalog, schema, traceToken });
    this.hasSavedColumns = columns !== null;
    this.keptAliveAt = resources.timers.now();
  }

  /** Whether the query has ended or another replica executes it. */
  isReleased(): boolean {
    return this.releasedAt !== null;
  }

  /**
   * Stores the query with the answer to its POST; further pages are fetched in the background.
   * @returns whether it runs; false: it has ended at once
   * @throws EngineFault; Refused `too_many_queries`: the user has `mostRunning` running queries already
   */
  async begin(query: NewQuery, page: StatementPage, mostRunning: number): Promise<boolean> {
    const { store, replica, budget } = this.resources;
    const ending = this.acceptPage(page, null, budget.reserve(this.state.runAs));
    if (!(await store.add(query, this.state, replica, mostRunning))) throw tooManyQueries(mostRunning);
    this.saved = this.changes;
    this.hasSavedColumns = this.state.columns !== null;
    if (ending !== null) await this.end(ending, false);
    if (this.isReleased()) return false;
    void this.resume();
    return true;
  }

  /**
   * Fetches the waiting page if it is not in memory, or else pages until one has rows or the query ends. Faults of the engine end the query;
   * other failures, such as an unreachable database, are retried at the next tick. Never rejects.
   */
  readonly resume = singleFlight(async () => {
    try {
      await this.fetchPages();
    } catch (error) {
      if (this.isReleased() || error instanceof ShareBeingRead) return;
      const isFault = error instanceof EngineFault;
      this.warn(isFault ? 'the engine did not continue a query' : 'a query will be resumed after a failure', error);
      if (isFault) await this.endByFault(error.kind);
    }
  });

  /** The rows beginning with row `from`, or an empty page with the same cursor if none come in time. Null: another replica executes or ended the query. */
  rows(from: number, limit: number): Promise<RowsResult | null> {
    return this.readInTurn(() => this.read(from, limit));
  }

  /**
   * Does what is due: ends the query, keeps it alive on the engine, or resumes it after a failure. Can be called while an earlier tick is
   * still in progress. Resolves when the work that it began is done.
   */
  async tick(): Promise<void> {
    if (this.isReleased()) return;
    const action = this.dueAction();
    if (action === 'expire') await this.end(endingByCode('query_timeout'));
    else if (action === 'abandon') await this.end(endingByCode('query_abandoned'));
    else if (action === 'resume' && this.previous?.isBeingRead !== true) void this.resume();
    else {
      await (action === 'fetch-next' ? this.fetchAfterRead() : this.save());
      await this.keepAlive();
    }
  }

  /** Ends the query in the store, and on the engine if it still runs there. @returns false: another replica executes or ended it. */
  async end(ending: Ending, runsOnEngine = this.state.nextPath !== null): Promise<boolean> {
    if (this.isReleased()) return false;
    const { store, clock, replica, metrics, client } = this.resources;
    const isOurs = await store.end(replica, ending, clock.now(), this.stateToStore());
    if (isOurs) this.span.setAttribute('grantline.state', ending.state);
    if (isOurs) this.ending = ending;
    this.release();
    if (!isOurs) return false;
    metrics.countEnding(ending);
    if (runsOnEngine && this.state.nextPath !== null) await client.cancel(this.state.nextPath, this.session);
    return true;
  }

  /** Stops executing, without a request to the engine: the query has ended, or another replica executes it. */
  release(): void {
    if (!this.isReleased()) this.span.end();
    this.releasedAt ??= this.resources.timers.now();
    if (this.ending?.state !== 'finished') this.releasePages();
    this.released.abort(RELEASED);
  }

  /** Releases the pages, so that none can be requested again. */
  releasePages(): void {
    this.current?.release();
    this.current = null;
    this.releasePrevious();
  }

  private dueAction(): Action {
    return nextAction({ ...this.state, isAwaited: this.isAwaited }, this.resources.clock.now());
  }

  private async read(from: number, limit: number): Promise<RowsResult | null> {
    const place = judgeFirstRow(from, this.state.newestFrom, this.state.rowsReturned);
    if (place === 'gone' || place === 'unknown-place') return { kind: place };
    if (this.isReleased()) return place === 'newest' ? this.newestPage() : this.rowsAfterEnd(from);
    this.isAwaited = place === 'next';
    try {
      return await this.readPage(from, limit, place);
    } finally {
      this.isAwaited = false;
    }
  }

  private async readPage(from: number, limit: number, place: 'next' | 'newest'): Promise<RowsResult | null> {
    const { timers } = this.resources;
    if (this.isNotInMemory()) await timers.waitAtMost(EXECUTION_TIMEOUTS.read, this.resume());
    if (this.current?.covers(from) === true) return this.handOut(this.current, from, limit);
    if (!this.isReleased() && !this.isNotInMemory()) {
      if (place === 'newest') return this.newestPage();
      this.finishCurrent();
      if (this.previous?.isBeingRead !== true) this.releasePrevious();
      await timers.waitAtMost(EXECUTION_TIMEOUTS.read, this.resume());
      if (this.current !== null) return this.handOut(this.current, from, limit);
    }
    if (this.isReleased()) return this.rowsAfterEnd(from);
    return { kind: 'page', page: uncountedPage(this.state.columns ?? [], [], from) };
  }

  private rowsAfterEnd(from: number): RowsResult | null {
    return this.ending && rowsOfEndedQuery(this.ending, this.state, from);
  }

  /** The page that was handed out last, with the same rows, even if the engine has advanced since. */
  private newestPage(): RowsResult | null {
    const { newestFrom: from, rowsReturned: to } = this.state;
    const held = [this.current, this.previous].find((page) => page?.covers(from) === true) ?? null;
    if (held === null) return this.isReleased() ? this.rowsAfterEnd(from) : { kind: 'gone' };
    return { kind: 'page', page: this.rowsOf(held, { from, to, next: this.isReleased() ? null : to }) };
  }

  private async handOut(held: HeldPage, from: number, limit: number): Promise<RowsResult | null> {
    const { maxRows, clock, metrics } = this.resources;
    const { to, reached } = held.endOf(from, limit, maxRows);
    const isLast = reached === 'max-rows' || (reached === 'end-of-page' && this.state.nextPath === null);
    const page = this.rowsOf(held, { from, to, next: isLast ? null : to });
    const delivered = Math.max(0, to - this.state.rowsReturned); // a repeated page does not count again
    // A stream never repeats a page, because it ends its query if it breaks off. So the next page can be fetched meanwhile.
    const isPrefetched = limit === Infinity && !isLast;
    this.changeState({ newestFrom: from, rowsReturned: to, waitingSince: clock.now() });
    if (isPrefetched) this.finishCurrent();
    const ending: Ending = { state: 'finished', truncated: reached === 'max-rows', updateCount: null };
    const isOurs = await (isLast ? this.end(ending) : this.save()).catch((error: unknown) => {
      page.release();
      throw error;
    });
    if (!isOurs) {
      page.release();
      this.release();
      return null;
    }
    metrics.countRows(delivered);
    if (isPrefetched) void this.resume();
    else this.releasePrevious();
    return { kind: 'page', page };
  }

  private rowsOf(held: HeldPage, range: RowRange): RowsPage {
    return held.read(range, this.state.columns ?? [], () => void this.endByFault('protocol'));
  }

  /** Whether the waiting page is not in this replica's memory, because another replica fetched it. */
  private isNotInMemory(): boolean {
    return this.current === null && this.state.waitingSince !== null;
  }

  private async fetchPages(): Promise<void> {
    for (let fetched: string | null = null; ;) {
      while (this.changes !== this.saved && !this.isReleased()) if (!(await this.save())) this.release();
      const { waitingSince, nextPath, pagePath, pageStart } = this.state;
      const isAgain = this.isNotInMemory();
      if (this.isReleased() || (waitingSince !== null && !isAgain)) return;
      const path = isAgain ? pagePath : nextPath;
      if (path === null) {
        await this.end(endingByCode('query_lost'));
        return;
      }
      if (path === fetched) await this.resources.timers.wait(100, this.released.signal); // the page's next path was its own
      fetched = path;
      const { page, reservation } = await this.fetchPage(path);
      if (isAgain) {
        this.keepPage(page, reservation, pageStart);
        return;
      }
      const ending = this.acceptPage(page, path, reservation);
      if (ending !== null) await this.end(ending, false);
      // If a reader waits for the page, the state is stored when its rows are handed out.
      if (ending !== null || (this.current !== null && this.isAwaited)) return;
    }
  }

  /** Fetches a page and reserves its bytes as they arrive. @throws EngineFault @throws BudgetExhausted @throws ShareBeingRead */
  private async fetchPage(path: string): Promise<{ page: StatementPage; reservation: Reservation }> {
    const { client, clock, timers, budget, metrics } = this.resources;
    const { runAs, deadlineAt, rowsReturned } = this.state;
    const reservation = budget.reserve(runAs);
    const onBytes = (bytes: number): void => {
      const claim = reservation.raiseTo(bytes);
      if (claim === 'full') throw new BudgetExhausted('QUERY_MAX_HELD_BYTES are held');
      if (claim === 'share' && this.previous?.isBeingRead === true) throw new ShareBeingRead('a share is being read');
      if (claim === 'share') throw new EngineFault('share', 'more than a share of QUERY_MAX_HELD_BYTES');
    };
    try {
      const deadline = timers.now() + deadlineAt.getTime() - clock.now().getTime();
      const limits = { deadline, rowsHandedOut: rowsReturned > 0, signal: this.released.signal, onBytes };
      const { page } = await client.advance(path, this.session, limits);
      return { page, reservation };
    } catch (error) {
      reservation.release();
      if (error instanceof EngineFault) metrics.countPageFailure(error.kind);
      if (error instanceof BudgetExhausted) metrics.countPageFailure('memory');
      throw error;
    }
  }

  /** @param path the page's path; null: the answer to the POST. @returns the query's ending, if the page ends it. @throws EngineFault */
  private acceptPage(page: StatementPage, path: string | null, reservation: Reservation): Ending | null {
    const verdict = judgePage(page);
    if (verdict.kind === 'hold') this.keepPage(page, reservation, this.state.rowsReturned);
    else reservation.release();
    this.changeState(changesBy(verdict, page, path, this.state, this.resources.clock.now()));
    return verdict.kind === 'end' ? verdict.ending : null;
  }

  private keepPage({ rows }: StatementPage, reservation: Reservation, start: number): void {
    if (this.isReleased()) reservation.release();
    else this.current = new HeldPage(start, rows, reservation, this.resources.budget);
  }

  /** Called when the current page has been read to its end, so that the next one can be fetched. */
  private finishCurrent(): void {
    if (this.current === null) return;
    this.releasePrevious();
    this.previous = this.current;
    this.current = null;
    this.changeState({ waitingSince: null, pagePath: null });
  }

  /** Releases the previous page, which cannot be requested again. Its readers keep it until they release it. */
  private releasePrevious(): void {
    this.previous?.release();
    this.previous = null;
  }

  /** Fetches the next page if the current one was read to its end a while ago, so that a query ends even if its reader stops there. */
  private readonly fetchAfterRead = singleFlight(async () => {
    await this.resume();
    // Readers that came meanwhile are served first. They may have read further pages.
    await this.readInTurn(() => {
      const isDue = !this.isReleased() && this.dueAction() === 'fetch-next';
      if (isDue && this.current?.end === this.state.rowsReturned) this.finishCurrent();
      return Promise.resolve();
    });
    void this.resume();
  });

  /** Sends a keep-alive request for the waiting page, or the next one, if the last request was a while ago. */
  private async keepAlive(): Promise<void> {
    const { timers, client } = this.resources;
    const path = this.state.pagePath ?? this.state.nextPath;
    if (path === null || timers.now() - this.keptAliveAt < EXECUTION_TIMEOUTS.keepAlive) return;
    this.keptAliveAt = timers.now();
    await client.keepAlive(path, this.session);
  }

  private changeState(changes: Partial<ExecutionState>): void {
    Object.assign(this.state, changes);
    this.changes += 1;
  }

  /** Stores the state if it has changed, one statement at a time. @returns false: another replica executes the query, or it has ended. */
  private save(): Promise<boolean> {
    return this.saveInTurn(async () => {
      const { changes, state, resources } = this;
      if (changes === this.saved) return true;
      const hasColumns = state.columns !== null;
      const isOurs = await resources.store.save(resources.replica, this.stateToStore());
      if (isOurs) this.saved = changes;
      this.hasSavedColumns ||= hasColumns;
      return isOurs;
    });
  }

  /** The state to store. Columns are left out once they are stored. */
  private stateToStore(): Readonly<ExecutionState> {
    return this.hasSavedColumns ? { ...this.state, columns: null } : this.state;
  }

  private async endByFault(kind: EngineFaultKind): Promise<void> {
    await this.end(endingByFault(kind)).catch((error: unknown) => {
      this.warn("a query's end could not be stored; it will be tried again", error);
    });
  }

  /** Logs only the error's message, because a database error contains the statement's values, such as paths. */
  private warn(message: LogMarker, error: unknown): void {
    const reason = error instanceof Error ? `${error.name}: ${error.message}` : 'unknown';
    this.resources.log.warn(message, { query_id: this.state.id, reason });
  }
}
