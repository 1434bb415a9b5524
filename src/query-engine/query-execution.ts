import type { Span } from '@opentelemetry/api';
import type { LogMarker } from '../kernel/log-marker.js';
import { Opaque } from '../kernel/secret.js';
import { singleFlight } from '../kernel/single-flight.js';
import type { Log } from '../platform/log.js';
import { startSpan } from '../platform/tracing.js';
import { type EngineSession, sessionFor } from './domain/engine-session.js';
import { EXECUTION_TIMEOUTS, nextAction } from './domain/next-action.js';
import type { ExecutionState, QueryProgress, QueryStore, RowSpan } from './domain/query-store.js';
import { type Ending, endedBy, endedByFault } from './domain/query.js';
import { covers, cutPage, judgeAsked } from './domain/row-window.js';
import { EngineFault, type EngineFaultKind } from './domain/statement-client.js';
import type { StatementPage } from './domain/statement-page.js';
import { EnginePages, type PageResources } from './engine-pages.js';
import { ExecutionRecord } from './execution-record.js';
import type { HeldPage } from './held-pages.js';
import { type RowsResult, smallPage } from './rows-page.js';

/** Resources that the executions of one replica share. */
export interface ExecutionResources extends PageResources {
  store: QueryStore;
  log: Log;
  /** This replica. */
  replica: string;
  /** 0: no limit. */
  maxRows: number;
}

/**
 * One query, executed by this replica: who reads its pages, and when it ends. No method waits for another query, and no
 * reader keeps this one from ending.
 */
@Opaque
export class QueryExecution {
  private readonly pages: EnginePages;
  private readonly record: ExecutionRecord;
  private readonly session: EngineSession;
  private readonly span: Span;
  private reading: Promise<unknown> = Promise.resolve();
  /** A reader waits for rows that nobody has read. */
  private isReadOn = false;
  private releasedAt: number | null = null;
  private finished = false;

  constructor(
    private readonly resources: ExecutionResources,
    state: ExecutionState,
  ) {
    const { store, clock, replica } = resources;
    const { runAs, catalog, schema, traceToken } = state;
    this.span = startSpan('engine statement', { attributes: { 'grantline.query_id': state.id } });
    this.record = new ExecutionRecord(store, clock, replica, state);
    this.session = sessionFor(runAs, { catalog, schema, traceToken });
    this.pages = new EnginePages(resources, this.record, this.session, () => void this.endByFault('protocol'));
  }

  /** The query has ended, or another replica executes it. */
  isReleased(): boolean {
    return this.releasedAt !== null;
  }

  /** Ended by this replica, all rows read: the last page can be asked for again. */
  get isFinished(): boolean {
    return this.finished;
  }

  /** Whose query it is. */
  get userId(): number {
    return this.record.state.userId;
  }

  /** Milliseconds since the release; 0 before it. */
  get releasedFor(): number {
    return this.releasedAt === null ? 0 : this.resources.timers.now() - this.releasedAt;
  }

  /** Takes the answer to the POST; further pages are fetched in the background. @returns null: it has ended. */
  async begin(page: StatementPage): Promise<QueryProgress | null> {
    const taken = await this.pages.first(page);
    if (taken.kind === 'not-ours') {
      this.release();
      // Ended while its POST was under way: no other replica knows the path that cancels it.
      if (page.nextPath !== null) await this.resources.client.cancel(page.nextPath, this.session);
      return null;
    }
    if (taken.ending !== null) await this.end(taken.ending, false);
    const hasEnded = this.isReleased();
    void this.resume();
    return hasEnded ? null : taken.progress;
  }

  /** Fetches pages until one has rows or the query ends. Never rejects. */
  readonly resume = singleFlight(() =>
    this.surviving(async () => {
      const outcome = await this.pages.fetchUntilRows();
      if (outcome === 'not-ours') this.release();
      else if (outcome !== null) await this.end(outcome, false);
    }),
  );

  /**
   * The rows from that one on, as soon as there are any; an empty page with the same cursor when none come in time. One
   * reader at a time. Null: released; the stored query has the result.
   */
  rows(from: number, limit: number): Promise<RowsResult | null> {
    return this.inTurn(() => this.read(from, limit));
  }

  /**
   * Does what is due by now: an end, a sign of life for the engine, another attempt after a failure of ours. May be called
   * while an earlier tick is still under way. Resolves when what it began is done.
   */
  async tick(): Promise<void> {
    if (this.isReleased()) return;
    switch (this.nextAction()) {
      case 'expire':
        await this.end(endedBy('query_timeout'));
        return;
      case 'abandon':
        await this.end(endedBy('query_abandoned'));
        return;
      case 'resume':
        return this.pages.isReadBehind ? this.pages.keepAlive() : void this.resume();
      case 'fetch-next':
        await this.passReadPage();
        return this.pages.keepAlive();
      case 'wait':
        return this.pages.keepAlive();
    }
  }

  /** Ends the query in the store with its `last` rows, and on the engine if it still runs there. @returns false: it is not ours. */
  async end(ending: Ending, runsOnEngine = this.record.state.nextPath !== null, last?: RowSpan): Promise<boolean> {
    if (this.isReleased()) return false;
    const path = this.record.state.nextPath;
    const ended = await this.record.end(ending, last);
    if (ended) this.resources.metrics.ended(ending);
    if (ended) this.span.setAttribute('grantline.state', ending.state);
    if (ended) this.finished = ending.state === 'finished';
    this.release();
    if (ended && runsOnEngine && path !== null) await this.resources.client.cancel(path, this.session);
    return ended;
  }

  /** Stops executing, without a request to the engine: the query has ended, or another replica executes it. */
  release(): void {
    if (!this.isReleased()) this.span.end();
    this.releasedAt ??= this.resources.timers.now();
    if (this.finished) this.pages.finish();
    else this.pages.drop();
    this.pages.close();
  }

  /** No page can be asked for again. */
  forgetPages(): void {
    this.pages.drop();
  }

  private nextAction(): ReturnType<typeof nextAction> {
    return nextAction({ ...this.record.state, isReadOn: this.isReadOn }, this.resources.clock.now());
  }

  /** Readers, and what must not happen while one reads: one after the other, each bounded by the time that a reader waits. */
  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.reading.then(work);
    this.reading = result.catch(() => undefined);
    return result;
  }

  private async read(from: number, limit: number): Promise<RowsResult | null> {
    const { newestFrom, rowsReturned } = this.record.state;
    const asked = judgeAsked(from, newestFrom, rowsReturned);
    if (asked === 'gone' || asked === 'unknown-place') return { kind: asked };
    if (this.isReleased()) return asked === 'newest' && this.finished ? this.newestPage() : null;
    this.isReadOn = asked === 'next';
    try {
      return await this.readPage(from, limit, asked);
    } finally {
      this.isReadOn = false;
    }
  }

  private async readPage(from: number, limit: number, asked: 'next' | 'newest'): Promise<RowsResult | null> {
    const { timers } = this.resources;
    if (this.pages.isEvicted()) await timers.atMost(EXECUTION_TIMEOUTS.read, this.fetchEvicted());
    const held = this.pages.waiting;
    if (held !== null && covers(held, from)) return this.handOut(held, from, limit);
    if (!this.isReleased() && !this.pages.isEvicted()) {
      if (asked === 'newest') return this.newestPage();
      await timers.atMost(EXECUTION_TIMEOUTS.read, held === null ? this.resume() : this.fetchNext());
      const next = this.pages.waiting;
      if (next !== null && next !== held) return this.handOut(next, from, limit);
    }
    return this.isReleased() ? null : { kind: 'page', page: smallPage(this.record.state.columns ?? [], [], from) };
  }

  private newestPage(): RowsResult {
    const page = this.pages.newest(this.finished);
    return page === null ? { kind: 'gone' } : { kind: 'page', page };
  }

  private async handOut(held: HeldPage, from: number, limit: number): Promise<RowsResult | null> {
    const { to, reached } = cutPage(from, limit, held, this.resources.maxRows);
    const isLast = reached === 'max-rows' || (reached === 'end-of-page' && this.record.state.nextPath === null);
    const page = this.pages.rows(held, { from, to, next: isLast ? null : to });
    const before = this.record.state.rowsReturned;
    const ending: Ending = { state: 'finished', truncated: reached === 'max-rows', updateCount: null };
    // A stream that breaks off ends its query, so that no row of it is asked for again: the next page can come meanwhile.
    const readsAhead = limit === Infinity && !isLast;
    const stored = isLast ? this.end(ending, undefined, { from, to }) : this.record.handOut({ from, to }, readsAhead);
    if (!(await stored)) {
      this.release();
      page.release();
      return null;
    }
    this.resources.metrics.delivered(Math.max(0, to - before)); // not again for a page that is asked for again
    this.pages.forgetRead();
    if (readsAhead) void this.fetchNext();
    return { kind: 'page', page };
  }

  private fetchEvicted(): Promise<void> {
    return this.surviving(() => this.pages.fetchEvicted());
  }

  /** Asks for the page after the held one, which has been read to its end. Never rejects. */
  private fetchNext(): Promise<void> {
    this.pages.turn();
    return this.resume();
  }

  /** Asks for the next page if the held one has been read to its end a while ago. */
  private readonly passReadPage = singleFlight(async () => {
    await this.fetchEvicted();
    // After the readers that came meanwhile: what they leave decides.
    await this.inTurn(() => {
      const isDue = !this.isReleased() && this.nextAction() === 'fetch-next';
      if (isDue && this.pages.isReadToItsEnd) void this.fetchNext();
      return Promise.resolve();
    });
  });

  /** The engine's faults end the query; failures of our own (a database that is away) are retried at the next tick. */
  private async surviving(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (this.isReleased()) return;
      const isFault = error instanceof EngineFault;
      this.warn(isFault ? 'the engine did not continue a query' : 'a query will be resumed after a failure', error);
      if (isFault) await this.endByFault(error.kind);
    }
  }

  private async endByFault(kind: EngineFaultKind): Promise<void> {
    await this.end(endedByFault(kind)).catch((error: unknown) => {
      this.warn("a query's end could not be stored; it will be tried again", error);
    });
  }

  /** Without the error itself: a database's error carries the values that it was given, and paths are among them. */
  private warn(message: LogMarker, error: unknown): void {
    const reason = error instanceof Error ? `${error.name}: ${error.message}` : 'unknown';
    this.resources.log.warn(message, { query_id: this.record.state.id, reason });
  }
}
