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
  changesOfPage,
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
import { type Ending, endingWithCode, endingForFault, tooManyQueries } from './domain/query.js';
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
  replica: string;
  /** The most rows of a query; 0: no limit. */
  maxRows: number;
}

/** Thrown when a new page and the pages in memory exceed QUERY_MAX_HELD_BYTES. The page is fetched again at the next tick. */
class BudgetExhausted extends NamedError {}
/** Thrown when a new page exceeds the user's share of memory while the previous page is being read. The new page is fetched again once that reading has ended. */
class ShareBeingRead extends NamedError {}

const RELEASED_ERROR = new NamedError('the query is not executed here any more');

/**
 * Executes one query. Fetches pages until one has rows, holds that page, and fetches the next one after it has been read. Stores the state
 * before it asks the engine for the next page, so that another replica can take over at any time. No method waits for another query.
 * The query ends in time even if its reader is slow.
 */
@Opaque
export class QueryExecution {
  private readonly session: EngineSession;
  private readonly span: Span;
  private readonly releaseController = new AbortController();
  /** The time, on the clock of Timers, at which this replica stopped executing the query; null while it executes the query. */
  releasedAt: number | null = null;
  /** How this replica ended the query. Null: this replica has not ended the query. */
  ending: Ending | null = null;
  /** The page that waits for a reader, if it is in memory; else null. */
  private currentPage: HeldPage | null = null;
  /** The page before the current one, kept until newer rows are handed out. */
  private previousPage: HeldPage | null = null;
  /** Serves readers one after the other, each for at most the time that a request for rows waits. */
  private readonly readInTurn = serialRunner();
  /** Whether a request waits for rows that were not handed out before. */
  private isReaderWaiting = false;
  private readonly saveInTurn = serialRunner();
  private changeCount = 0;
  private savedChangeCount = 0;
  private hasSavedColumns: boolean;
  private keptAliveAt: number;
  private beingReadAt = new Date(0);

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
   * @returns whether the query runs; false: the answer was its last page
   * @throws EngineFault; Refused `too_many_queries`: the user has `maxRunning` running queries already
   */
  async begin(query: NewQuery, page: StatementPage, maxRunning: number): Promise<boolean> {
    const { store, replica, budget } = this.resources;
    const ending = this.acceptPage(page, null, budget.reserve(this.state.runAs));
    if (!(await store.add(query, this.state, replica, maxRunning))) throw tooManyQueries(maxRunning);
    this.savedChangeCount = this.changeCount;
    this.hasSavedColumns = this.state.columns !== null;
    if (ending !== null) await this.end(ending, false);
    if (this.isReleased()) return false;
    void this.resume();
    return true;
  }

  /**
   * Fetches the page that waits for a reader, if it is not in memory. If none waits, fetches pages until one has rows or the query ends. Faults of the engine
   * end the query; other failures, such as an unreachable database, are retried at the next tick. Never rejects.
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

  /**
   * The rows beginning with row `startRow`, or an empty page with the same cursor if none come in time. Null: another replica executes or ended
   * the query.
   */
  rows(startRow: number, limit: number): Promise<RowsResult | null> {
    return this.readInTurn(() => this.readRows(startRow, limit));
  }

  /**
   * Does what is due: ends the query, keeps it alive on the engine, or resumes it after a failure. Can be called while an earlier tick is
   * still in progress. Resolves when the work of this tick is done.
   */
  async tick(): Promise<void> {
    if (this.isReleased()) return;
    const action = this.dueAction();
    if (action === 'expire') await this.end(endingWithCode('query_timeout'));
    else if (action === 'abandon') await this.end(endingWithCode('query_abandoned'));
    else if (action === 'resume' && this.previousPage?.isBeingRead !== true) void this.resume();
    else {
      await (action === 'fetch-next' ? this.fetchAfterRead() : this.save());
      await this.keepAlive();
    }
  }

  /** Ends the query in the store, and on the engine if it still runs there. @returns false: this replica no longer executes the query */
  async end(ending: Ending, runsOnEngine = this.state.nextPath !== null): Promise<boolean> {
    if (this.isReleased()) return false;
    const { store, clock, replica, metrics, client } = this.resources;
    const hasLease = await store.end(replica, ending, clock.now(), this.stateToStore());
    if (hasLease) this.span.setAttribute('grantline.state', ending.state);
    if (hasLease) this.ending = ending;
    this.release();
    if (!hasLease) return false;
    metrics.countEnding(ending);
    if (runsOnEngine && this.state.nextPath !== null) await client.cancel(this.state.nextPath, this.session);
    return true;
  }

  /** Stops executing, without a request to the engine: the query has ended, or another replica executes it. */
  release(): void {
    if (!this.isReleased()) this.span.end();
    this.releasedAt ??= this.resources.timers.now();
    if (this.ending?.state !== 'finished') this.releasePages();
    this.releaseController.abort(RELEASED_ERROR);
  }

  /** Releases the pages, so that none can be requested again. */
  releasePages(): void {
    this.currentPage?.release();
    this.currentPage = null;
    this.releasePreviousPage();
  }

  private get pages(): HeldPage[] {
    return [this.currentPage, this.previousPage].filter((page) => page !== null);
  }

  private dueAction(): Action {
    const { state, isReaderWaiting } = this;
    const now = this.resources.clock.now();
    if (this.pages.some((page) => page.isBeingRead)) this.beingReadAt = now;
    return nextAction({ ...state, isReaderWaiting, beingReadAt: this.beingReadAt }, now);
  }

  private async readRows(startRow: number, limit: number): Promise<RowsResult | null> {
    if (this.ending !== null && this.ending.state !== 'finished') return this.rowsIfEnded(startRow);
    const pageToRead = judgeFirstRow(startRow, this.state.newestPageStart, this.state.rowsReturned);
    if (pageToRead === 'gone' || pageToRead === 'unknown-place') return { kind: pageToRead };
    if (this.isReleased()) return pageToRead === 'newest' ? this.newestPage() : this.rowsIfEnded(startRow);
    this.isReaderWaiting = pageToRead === 'next';
    try {
      return await this.readPage(startRow, limit, pageToRead);
    } finally {
      this.isReaderWaiting = false;
    }
  }

  private async readPage(startRow: number, limit: number, pageToRead: 'next' | 'newest'): Promise<RowsResult | null> {
    const { timers } = this.resources;
    if (this.lacksWaitingPage()) await timers.waitAtMost(EXECUTION_TIMEOUTS.rowsRequest, this.resume());
    if (this.currentPage?.coversRow(startRow) === true) return this.handOut(this.currentPage, startRow, limit);
    if (!this.isReleased() && !this.lacksWaitingPage()) {
      if (pageToRead === 'newest') return this.newestPage();
      this.finishCurrentPage();
      if (this.previousPage?.isBeingRead !== true) this.releasePreviousPage();
      await timers.waitAtMost(EXECUTION_TIMEOUTS.rowsRequest, this.resume());
      if (this.currentPage !== null) return this.handOut(this.currentPage, startRow, limit);
    }
    if (this.isReleased()) return this.rowsIfEnded(startRow);
    return { kind: 'page', page: uncountedPage(this.state.columns ?? [], [], startRow) };
  }

  private rowsIfEnded(startRow: number): RowsResult | null {
    return this.ending && rowsOfEndedQuery(this.ending, this.state, startRow);
  }

  /** Repeats the answer that was handed out last, with the same rows, even if further pages have been fetched since. */
  private newestPage(): RowsResult | null {
    const { newestPageStart: startRow, rowsReturned: endRow } = this.state;
    const heldPage = this.pages.find((page) => page.coversRow(startRow));
    if (heldPage === undefined) return this.isReleased() ? this.rowsIfEnded(startRow) : { kind: 'gone' };
    return { kind: 'page', page: this.rowsOf(heldPage, { startRow, endRow, next: this.isReleased() ? null : endRow }) };
  }

  private async handOut(heldPage: HeldPage, startRow: number, limit: number): Promise<RowsResult | null> {
    const { maxRows, clock, metrics } = this.resources;
    const { toRow: endRow, reason } = heldPage.endFrom(startRow, limit, maxRows);
    const isLast = reason === 'max-rows' || (reason === 'end-of-page' && this.state.nextPath === null);
    const page = this.rowsOf(heldPage, { startRow, endRow, next: isLast ? null : endRow });
    const newRowCount = Math.max(0, endRow - this.state.rowsReturned); // a repeated page does not count again
    // A stream (a reader without a limit) never requests a page again, because a broken stream ends its query. So the next page can be fetched now.
    const mayPrefetch = limit === Infinity && !isLast;
    this.changeState({ newestPageStart: startRow, rowsReturned: endRow, waitingSince: clock.now() });
    if (mayPrefetch) this.finishCurrentPage();
    const ending: Ending = { state: 'finished', truncated: reason === 'max-rows', updateCount: null };
    const hasLease = await (isLast ? this.end(ending) : this.save()).catch((error: unknown) => {
      page.release();
      throw error;
    });
    if (!hasLease) {
      page.release();
      this.release();
      return null;
    }
    metrics.countRows(newRowCount);
    if (mayPrefetch) void this.resume();
    else this.releasePreviousPage();
    return { kind: 'page', page };
  }

  private rowsOf(heldPage: HeldPage, range: RowRange): RowsPage {
    return heldPage.rowsForReader(range, this.state.columns ?? [], () => void this.endByFault('protocol'));
  }

  /** Whether a page waits for a reader, but is not in this replica's memory, because another replica fetched it. */
  private lacksWaitingPage(): boolean {
    return this.currentPage === null && this.state.waitingSince !== null;
  }

  private async fetchPages(): Promise<void> {
    for (let fetchedPath: string | null = null; ;) {
      while (this.changeCount !== this.savedChangeCount && !this.isReleased()) if (!(await this.save())) this.release();
      const { waitingSince, nextPath, waitingPagePath, waitingPageStart } = this.state;
      const isRefetch = this.lacksWaitingPage();
      if (this.isReleased() || (waitingSince !== null && !isRefetch)) return;
      const path = isRefetch ? waitingPagePath : nextPath;
      if (path === null) {
        await this.end(endingWithCode('query_lost'));
        return;
      }
      if (path === fetchedPath) await this.resources.timers.wait(100, this.releaseController.signal); // the engine repeats the path
      fetchedPath = path;
      const { page, reservation } = await this.fetchPage(path);
      if (isRefetch) this.keepPage(page, reservation, waitingPageStart);
      if (isRefetch) return;
      const ending = this.acceptPage(page, path, reservation);
      if (ending !== null) await this.end(ending, false);
      // If there is a reader, this loop need not save the state: handing out the page saves it.
      const hasReader = this.isReaderWaiting || this.previousPage?.isBeingRead === true;
      if (ending !== null || (this.currentPage !== null && hasReader)) return;
    }
  }

  /** Fetches a page and reserves its bytes as they arrive. @throws EngineFault @throws BudgetExhausted @throws ShareBeingRead */
  private async fetchPage(path: string): Promise<{ page: StatementPage; reservation: Reservation }> {
    const { client, clock, timers, budget, metrics } = this.resources;
    const { runAs, deadlineAt, rowsReturned } = this.state;
    const reservation = budget.reserve(runAs);
    const onBytes = (bytes: number): void => {
      const outcome = reservation.raiseTo(bytes);
      if (outcome === 'full') throw new BudgetExhausted('QUERY_MAX_HELD_BYTES are held');
      if (outcome === 'share' && this.previousPage?.isBeingRead === true)
        throw new ShareBeingRead('a share is being read');
      if (outcome === 'share') throw new EngineFault('share', 'more than a share of QUERY_MAX_HELD_BYTES');
    };
    try {
      const deadline = timers.now() + deadlineAt.getTime() - clock.now().getTime();
      const limits = { deadline, rowsHandedOut: rowsReturned > 0, signal: this.releaseController.signal, onBytes };
      const { page } = await client.advance(path, this.session, limits);
      return { page, reservation };
    } catch (error) {
      reservation.release();
      if (error instanceof EngineFault) metrics.countPageFailure(error.kind);
      if (error instanceof BudgetExhausted) metrics.countPageFailure('memory');
      throw error;
    }
  }

  /** Accepts a page. @param path the page's path; null: the page answers the POST. @returns how the page ends the query; null: it continues. @throws EngineFault */
  private acceptPage(page: StatementPage, path: string | null, reservation: Reservation): Ending | null {
    const verdict = judgePage(page);
    if (verdict.kind === 'hold') this.keepPage(page, reservation, this.state.rowsReturned);
    else reservation.release();
    this.changeState(changesOfPage(verdict, page, path, this.state, this.resources.clock.now()));
    return verdict.kind === 'end' ? verdict.ending : null;
  }

  private keepPage({ rows }: StatementPage, reservation: Reservation, startRow: number): void {
    if (this.isReleased()) reservation.release();
    else this.currentPage = new HeldPage(startRow, rows, reservation, this.resources.budget);
  }

  /** Makes the current page the previous one, after it has been read to its end, so that the next one can be fetched. */
  private finishCurrentPage(): void {
    if (this.currentPage === null) return;
    this.releasePreviousPage();
    this.previousPage = this.currentPage;
    this.currentPage = null;
    this.changeState({ waitingSince: null, waitingPagePath: null });
  }

  /** Releases the previous page, so that it can no longer be requested. A request that is still reading it keeps its rows until the end. */
  private releasePreviousPage(): void {
    this.previousPage?.release();
    this.previousPage = null;
  }

  /** Fetches the next page if the current one was read to its end a while ago, so that a query ends even if its reader does not return. */
  private readonly fetchAfterRead = singleFlight(async () => {
    await this.resume();
    // `readInTurn` serves earlier requests for rows first. They may have read further, so `fetch-next` may no longer be due.
    await this.readInTurn(() => {
      const isDue = !this.isReleased() && this.dueAction() === 'fetch-next';
      if (isDue && this.currentPage?.endRow === this.state.rowsReturned) this.finishCurrentPage();
      return Promise.resolve();
    });
    void this.resume();
  });

  private async keepAlive(): Promise<void> {
    const { timers, client } = this.resources;
    const path = this.state.waitingPagePath ?? this.state.nextPath;
    if (path === null || timers.now() - this.keptAliveAt < EXECUTION_TIMEOUTS.keepAlive) return;
    this.keptAliveAt = timers.now();
    await client.keepAlive(path, this.session);
  }

  private changeState(changes: Partial<ExecutionState>): void {
    Object.assign(this.state, changes);
    this.changeCount += 1;
  }

  /** Stores the state if it has changed, one statement at a time. @returns false: another replica executes the query, or it has ended. */
  private save(): Promise<boolean> {
    return this.saveInTurn(async () => {
      const { changeCount, state, resources } = this;
      if (changeCount === this.savedChangeCount) return true;
      const hasColumns = state.columns !== null;
      const hasLease = await resources.store.save(resources.replica, this.stateToStore());
      if (hasLease) this.savedChangeCount = changeCount;
      this.hasSavedColumns ||= hasColumns;
      return hasLease;
    });
  }

  /** The state to store. Columns are left out once they are stored. */
  private stateToStore(): Readonly<ExecutionState> {
    return this.hasSavedColumns ? { ...this.state, columns: null } : this.state;
  }

  private async endByFault(kind: EngineFaultKind): Promise<void> {
    await this.end(endingForFault(kind)).catch((error: unknown) => {
      this.warn("a query's end could not be stored; it will be tried again", error);
    });
  }

  /** Logs only the error's message, because a database error contains the statement's values, such as paths. */
  private warn(message: LogMarker, error: unknown): void {
    const reason = error instanceof Error ? `${error.name}: ${error.message}` : 'unknown';
    this.resources.log.warn(message, { query_id: this.state.id, reason });
  }
}
