import type { Span } from '@opentelemetry/api';
import type { LogMarker } from '../kernel/log-marker.js';
import { NamedError } from '../kernel/errors.js';
import { Opaque } from '../kernel/secret.js';
import { serialRunner, singleFlight } from '../kernel/promises.js';
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
  type AnswerEvents,
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
import { type ExecutionResources, fetchPage, ShareBeingRead } from './page-fetch.js';

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
  /** The previous page, if it was handed to a stream that has not begun. The next page is not fetched before. */
  private unbegunPage: HeldPage | null = null;
  /** Serves readers one after the other. The time that a request for rows waits includes that of earlier readers. */
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
    const waitUntil = this.resources.timers.now() + EXECUTION_TIMEOUTS.rowsRequest;
    return this.readInTurn(() => this.readRows(startRow, limit, waitUntil));
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

  /** Releases the page before the current one, which is kept only in case it is requested again. */
  releaseReadPage(): void {
    if (this.previousPage?.isNeeded !== true) this.releasePreviousPage();
  }

  get pages(): readonly HeldPage[] {
    return [this.currentPage, this.previousPage].filter((page) => page !== null);
  }

  private dueAction(): Action {
    const { state, isReaderWaiting } = this;
    const now = this.resources.clock.now();
    if (this.pages.some((page) => page.isBeingRead)) this.beingReadAt = now;
    return nextAction({ ...state, isReaderWaiting, beingReadAt: this.beingReadAt }, now);
  }

  private async readRows(startRow: number, limit: number, waitUntil: number): Promise<RowsResult | null> {
    if (this.ending !== null && this.ending.state !== 'finished') return this.rowsIfEnded(startRow);
    const pageToRead = judgeFirstRow(startRow, this.state.newestPageStart, this.state.rowsReturned);
    if (pageToRead === 'gone' || pageToRead === 'unknown-place') return { kind: pageToRead };
    if (this.isReleased()) return pageToRead === 'newest' ? this.newestPage() : this.rowsIfEnded(startRow);
    this.isReaderWaiting = pageToRead === 'next';
    try {
      return await this.readPage(startRow, limit, pageToRead, waitUntil);
    } finally {
      this.isReaderWaiting = false;
    }
  }

  private async readPage(
    startRow: number,
    limit: number,
    pageToRead: 'next' | 'newest',
    waitUntil: number,
  ): Promise<RowsResult | null> {
    const { timers } = this.resources;
    const waitForPage = (): Promise<void> => timers.waitAtMost(Math.max(0, waitUntil - timers.now()), this.resume());
    if (this.lacksWaitingPage()) await waitForPage();
    if (this.currentPage?.coversRow(startRow) === true) return this.handOut(this.currentPage, startRow, limit);
    if (!this.isReleased() && !this.lacksWaitingPage()) {
      if (pageToRead === 'newest') return this.newestPage();
      this.finishCurrentPage();
      this.unbegunPage = null;
      if (this.previousPage?.isBeingRead !== true) this.releasePreviousPage();
      await waitForPage();
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
    const newRowCount = Math.max(0, endRow - this.state.rowsReturned); // a repeated page does not count again
    // A stream (a reader without a limit) that has begun never requests a page again, because a broken stream ends its query.
    const mayPrefetch = limit === Infinity && !isLast;
    const events = mayPrefetch ? this.streamEvents(heldPage, this.state.waitingPagePath) : {};
    const page = this.rowsOf(heldPage, { startRow, endRow, next: isLast ? null : endRow }, events);
    this.changeState({ newestPageStart: startRow, rowsReturned: endRow, waitingSince: clock.now() });
    if (mayPrefetch) {
      this.finishCurrentPage();
      this.unbegunPage = heldPage;
    }
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
    if (!mayPrefetch) this.releasePreviousPage();
    return { kind: 'page', page };
  }

  private rowsOf(heldPage: HeldPage, range: RowRange, events: Partial<AnswerEvents> = {}): RowsPage {
    const onFault = (kind: EngineFaultKind): void => void this.endByFault(kind);
    return heldPage.rowsForReader(range, this.state.columns ?? [], { onFault, ...events });
  }

  /** Fetches the page after a stream's first one once the stream has begun. If the stream is refused, its page waits for a reader again. */
  private streamEvents(heldPage: HeldPage, waitingPagePath: string | null): Partial<AnswerEvents> {
    const onConfirmed = (): void => {
      this.unbegunPage = null;
      void this.resume();
    };
    const onRefused = (): void => {
      if (this.isReleased() || this.unbegunPage !== heldPage) return;
      [this.currentPage, this.previousPage, this.unbegunPage] = [heldPage, null, null];
      this.changeState({ waitingPagePath, waitingSince: this.resources.clock.now() });
      void this.resume(); // stores the state
    };
    return { onConfirmed, onRefused };
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
      if (this.isReleased() || (waitingSince !== null && !isRefetch) || this.unbegunPage?.isBeingRead === true) return;
      this.unbegunPage = null;
      const path = isRefetch ? waitingPagePath : nextPath;
      if (path === null) {
        await this.end(endingWithCode('query_lost'));
        return;
      }
      if (path === fetchedPath) await this.resources.timers.wait(100, this.releaseController.signal); // the engine repeats the path
      fetchedPath = path;
      const { page, reservation } = await fetchPage(this.resources, this.state, {
        ...{ path, session: this.session, signal: this.releaseController.signal },
        isShareBeingRead: () => this.previousPage?.isBeingRead === true,
      });
      if (isRefetch) this.keepPage(page, reservation, waitingPageStart);
      if (isRefetch) return;
      const ending = this.acceptPage(page, path, reservation);
      if (ending !== null) await this.end(ending, false);
      // If there is a reader, this loop need not save the state: handing out the page saves it.
      const hasReader = this.isReaderWaiting || this.previousPage?.isBeingRead === true;
      if (ending !== null || (this.currentPage !== null && hasReader)) return;
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
      const page = this.currentPage;
      if (isDue && page?.endRow === this.state.rowsReturned && !page.isUnsent) this.finishCurrentPage();
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
