import type { Clock } from '../kernel/clock.js';
import type { LogMarker } from '../kernel/log-marker.js';
import { Opaque } from '../kernel/secret.js';
import { singleFlight } from '../kernel/single-flight.js';
import type { Timers } from '../kernel/timers.js';
import type { Log } from '../platform/log.js';
import { type EngineSession, sessionFor } from './domain/engine-session.js';
import { EXECUTION_TIMEOUTS, nextAction } from './domain/next-action.js';
import type { PageBudget } from './domain/page-budget.js';
import { PageRows } from './domain/page-rows.js';
import { isRepeated, judgePage, type TakenPage } from './domain/page-verdict.js';
import type { ExecutionState, QueryProgress, QueryStore } from './domain/query-store.js';
import { type Ending, endedBy, endedByFault } from './domain/query.js';
import { covers, cutPage, judgeAsked } from './domain/row-window.js';
import { EngineFault, type StatementClient } from './domain/statement-client.js';
import type { StatementPage } from './domain/statement-page.js';
import { ExecutionRecord } from './execution-record.js';
import type { QueryMetrics } from './query.metrics.js';
import { type HeldPage, HeldPages } from './held-pages.js';
import { type FetchedPage, PageFetcher } from './page-fetcher.js';
import { rowsOfHeldPage, type RowsPage, type RowsResult, smallPage } from './rows-page.js';

/** What the executions of one replica share. */
export interface ExecutionResources {
  client: StatementClient;
  store: QueryStore;
  timers: Timers;
  clock: Clock;
  log: Log;
  /** This replica. */
  replica: string;
  /** 0: no limit. */
  maxRows: number;
  budget: PageBudget;
  metrics: QueryMetrics;
}

/** Milliseconds before a path that led to itself is fetched again. */
const SAME_PATH_PAUSE = 100;

/**
 * One query, executed by this replica. It fetches pages until one has rows, holds that page, and fetches no more before it
 * has been read. Its record is always ahead of the engine, so that another replica can take over.
 */
@Opaque
export class QueryExecution {
  private readonly pages = new HeldPages();
  private readonly record: ExecutionRecord;
  private readonly session: EngineSession;
  private readonly fetcher: PageFetcher;
  private readonly aborted = new AbortController();
  private lastTaken: TakenPage | null = null;
  private readers = 0;
  private reading: Promise<unknown> = Promise.resolve();
  private releasedAt: number | null = null;
  private keptAliveAt: number;
  private finished = false;

  constructor(
    private readonly resources: ExecutionResources,
    state: ExecutionState,
  ) {
    const { client, store, clock, timers, replica, budget, metrics } = resources;
    const { runAs, catalog, schema, traceToken } = state;
    this.record = new ExecutionRecord(store, clock, replica, state);
    this.session = sessionFor(runAs, { catalog, schema, traceToken });
    this.fetcher = new PageFetcher(client, { budget, metrics }, runAs, this.session, this.aborted.signal);
    this.keptAliveAt = timers.now();
  }

  /** The query has ended, or another replica executes it. */
  isReleased(): boolean {
    return this.releasedAt !== null;
  }

  /** Ended by this replica, all rows read: the last page can be asked for again. */
  get isFinished(): boolean {
    return this.finished;
  }

  /** Milliseconds since the release; 0 before it. */
  get releasedFor(): number {
    return this.releasedAt === null ? 0 : this.resources.timers.now() - this.releasedAt;
  }

  /** Takes the answer to the POST; further pages are fetched in the background. @returns null: it has ended. */
  async begin(page: StatementPage): Promise<QueryProgress | null> {
    const { client, budget } = this.resources;
    const progress = await this.take({ page, charge: budget.open(this.record.state.runAs) }, null);
    // Ended while its POST was under way: no other replica knows the path that cancels it.
    if (progress === null && page.nextPath !== null) await client.cancel(page.nextPath, this.session);
    const hasEnded = this.isReleased();
    void this.resume();
    return hasEnded ? null : progress;
  }

  /** Fetches pages until one has rows or the query ends. Never rejects. */
  readonly resume = singleFlight(() =>
    this.fetchPages()
      .catch((error: unknown) => this.handleFailure(error))
      .catch((error: unknown) => this.warnOfUnstoredEnd(error)),
  );

  /**
   * The rows from that one on, as soon as there are any; an empty page with the same cursor when none come in time. One
   * reader at a time. Null: released; the stored query has the result.
   */
  rows(from: number, limit: number): Promise<RowsResult | null> {
    this.readers += 1;
    const result = this.reading.then(() => this.read(from, limit)).finally(() => (this.readers -= 1));
    this.reading = result.catch(() => undefined);
    return result;
  }

  /** Does what is due by now: an end, a sign of life for the engine, another attempt after a failure of ours. */
  async tick(): Promise<void> {
    if (this.isReleased() || this.readers > 0) return;
    switch (nextAction(this.record.state, this.resources.clock.now())) {
      case 'expire':
        return this.end(endedBy('query_timeout'));
      case 'abandon':
        return this.end(endedBy('query_abandoned'));
      case 'resume':
        return void this.resume();
      case 'fetch-next':
        // A reader may have come while the page was fetched again.
        return (await this.isReadToItsEnd()) && this.readers === 0 ? void this.fetchNext() : this.keepAlive();
      case 'wait':
        return this.keepAlive();
    }
  }

  /** Ends the query in the store, and on the engine if it still runs there. */
  async end(ending: Ending, runsOnEngine = this.record.state.nextPath !== null): Promise<void> {
    if (this.isReleased()) return;
    const path = this.record.state.nextPath;
    const ended = await this.record.end(ending);
    if (ended) this.resources.metrics.ended(ending);
    this.finished = ended && ending.state === 'finished';
    this.release();
    if (ended && runsOnEngine && path !== null) await this.resources.client.cancel(path, this.session);
  }

  /** Stops executing, without a request to the engine: the query has ended, or another replica executes it. */
  release(): void {
    this.releasedAt ??= this.resources.timers.now();
    if (!this.finished) this.pages.drop();
    this.aborted.abort();
  }

  /** No page can be asked for again. */
  forgetPages(): void {
    this.pages.drop();
  }

  private async read(from: number, limit: number): Promise<RowsResult | null> {
    const { newestFrom, rowsReturned } = this.record.state;
    const asked = judgeAsked(from, newestFrom, rowsReturned);
    if (asked === 'gone' || asked === 'unknown-place') return { kind: asked };
    if (this.isReleased()) return asked === 'newest' && this.finished ? this.newestPage() : null;
    const held = await this.heldPage();
    if (held !== null && covers(held, from)) return this.handOut(held, from, limit);
    if (asked === 'newest') return this.newestPage();
    await this.awaitPageAfter(held);
    const next = await this.heldPage();
    if (next !== null && next !== held) return this.handOut(next, from, limit);
    return this.isReleased() ? null : { kind: 'page', page: smallPage(this.record.state.columns ?? [], [], from) };
  }

  /** The newest page as it was handed out, though the engine may have advanced since. */
  private newestPage(): RowsResult {
    const { newestFrom, rowsReturned } = this.record.state;
    const held = this.pages.covering(newestFrom);
    if (held === null) return { kind: 'gone' };
    return { kind: 'page', page: this.page(held, newestFrom, rowsReturned, this.finished ? null : rowsReturned) };
  }

  /** Returns when there is a page, and after the time that a reader waits at the latest. */
  private async awaitPageAfter(held: HeldPage | null): Promise<void> {
    const done = new AbortController();
    const timeout = this.resources.timers.wait(EXECUTION_TIMEOUTS.read, done.signal).catch(() => undefined);
    await Promise.race([held === null ? this.resume() : this.fetchNext(), timeout]);
    done.abort();
  }

  private async handOut(held: HeldPage, from: number, limit: number): Promise<RowsResult | null> {
    const { to, reached } = cutPage(from, limit, held, this.resources.maxRows);
    const isLast = reached === 'max-rows' || (reached === 'end-of-page' && this.record.state.nextPath === null);
    const page = this.page(held, from, to, isLast ? null : to);
    const before = this.record.state.rowsReturned;
    if (!(await this.record.handOut(from, to))) {
      this.release();
      page.release();
      return null;
    }
    this.resources.metrics.delivered(Math.max(0, to - before)); // not again for a page that is asked for again
    this.pages.forgetRead();
    if (isLast) await this.end({ state: 'finished', truncated: reached === 'max-rows', updateCount: null });
    return { kind: 'page', page };
  }

  private page(held: HeldPage, from: number, to: number, next: number | null): RowsPage {
    const range = { columns: this.record.state.columns ?? [], from, to, next };
    return rowsOfHeldPage(held, range, this.resources.budget, () => {
      this.end(endedByFault('protocol')).catch((error: unknown) => this.warnOfUnstoredEnd(error));
    });
  }

  /** The page that waits for a reader, fetched again where another replica held it before; null: none waits. */
  private async heldPage(): Promise<HeldPage | null> {
    const { waitingSince, pagePath, pageStart } = this.record.state;
    if (this.pages.waiting !== null || waitingSince === null || pagePath === null) return this.pages.waiting;
    try {
      const fetched = await this.fetch(pagePath);
      if (this.isReleased()) fetched.charge.release();
      else this.hold(pageStart, fetched, pagePath);
    } catch (error) {
      await this.handleFailure(error);
    }
    return this.pages.waiting;
  }

  private async isReadToItsEnd(): Promise<boolean> {
    const held = await this.heldPage();
    return held !== null && this.record.state.rowsReturned === held.start + held.rows.length;
  }

  /** Asks for the page after the held one, which has been read to its end. Never rejects. */
  private fetchNext(): Promise<void> {
    this.pages.turn();
    this.record.finishPage();
    return this.resume();
  }

  private async fetchPages(): Promise<void> {
    if (!(await this.record.releasePage())) {
      this.release();
      return;
    }
    const { state } = this.record;
    let asked: string | null = null;
    while (!this.isReleased() && state.waitingSince === null && state.nextPath !== null) {
      const path: string = state.nextPath;
      if (path === asked) await this.resources.timers.wait(SAME_PATH_PAUSE, this.aborted.signal);
      asked = path;
      const fetched = await this.fetch(path);
      if (isRepeated(fetched.page, path, this.lastTaken)) fetched.page = { ...fetched.page, rows: PageRows.NONE };
      await this.take(fetched, path);
    }
  }

  private fetch(path: string): Promise<FetchedPage> {
    const { clock, timers } = this.resources;
    const { deadlineAt, rowsReturned } = this.record.state;
    const deadline = timers.now() + deadlineAt.getTime() - clock.now().getTime();
    return this.fetcher.fetch(path, { deadline, rowsHandedOut: rowsReturned > 0 });
  }

  /** @param path where the page was found; null: in the answer to the POST. @returns null: not ours to execute. */
  private async take(fetched: FetchedPage, path: string | null): Promise<QueryProgress | null> {
    const { page, charge } = fetched;
    const verdict = judgePage(page);
    let isHeld = false;
    try {
      const progress = await this.record.progress(page, verdict, path);
      if (progress === null) {
        this.release();
        return null;
      }
      if (verdict.kind === 'end') await this.end(verdict.ending, false);
      isHeld = verdict.kind === 'hold' && !this.isReleased();
      if (isHeld) this.hold(this.record.state.pageStart, fetched, path);
      return progress;
    } finally {
      if (!isHeld) charge.release();
    }
  }

  private hold(start: number, { page, charge }: FetchedPage, path: string | null): void {
    this.pages.hold({ start, rows: page.rows, charge });
    if (path !== null) this.lastTaken = { path, nextPath: page.nextPath, rows: page.rows.length, size: page.rows.size };
  }

  private async keepAlive(): Promise<void> {
    const { timers, client } = this.resources;
    const { pagePath } = this.record.state;
    if (pagePath === null || timers.now() - this.keptAliveAt < EXECUTION_TIMEOUTS.keepAlive) return;
    this.keptAliveAt = timers.now();
    await client.keepAlive(pagePath, this.session);
  }

  /** The engine's faults end the query; failures of our own (a database that is away) are retried at the next tick. */
  private async handleFailure(error: unknown): Promise<void> {
    if (this.isReleased()) return;
    const isFault = error instanceof EngineFault;
    this.warn(isFault ? 'the engine did not continue a query' : 'a query will be resumed after a failure', error);
    if (isFault) await this.end(endedByFault(error.kind));
  }

  private warnOfUnstoredEnd(error: unknown): void {
    this.warn("a query's end could not be stored; it will be tried again", error);
  }

  /** Without the error itself: a database's error carries the values that it was given, and paths are among them. */
  private warn(message: LogMarker, error: unknown): void {
    const reason = error instanceof Error ? `${error.name}: ${error.message}` : 'unknown';
    this.resources.log.warn(message, { query_id: this.record.state.id, reason });
  }
}
