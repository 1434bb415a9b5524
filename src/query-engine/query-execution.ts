import type { Span } from '@opentelemetry/api';
import type { Clock, Timers } from '../kernel/clock.js';
import type { LogMarker } from '../kernel/log-marker.js';
import { NamedError } from '../kernel/errors.js';
import { Opaque } from '../kernel/secret.js';
import { inTurn, singleFlight } from '../kernel/promises.js';
import type { Log } from '../platform/log/log.js';
import { startSpan } from '../platform/operations/tracing.js';
import { type EngineSession, sessionFor } from './domain/engine-session.js';
import {
  changesBy,
  EXECUTION_TIMEOUTS,
  type ExecutionState,
  isRepeated,
  judgePage,
  nextAction,
  type TakenPage,
} from './domain/execution-state.js';
import {
  type HeldBytes,
  HeldPage,
  type Room,
  type RowRange,
  rowsOfEnded,
  type RowsPage,
  type RowsResult,
  smallPage,
} from './domain/held-page.js';
import { PageRows } from './domain/page-rows.js';
import type { QueryStore } from './domain/query-store.js';
import { type Ending, endedBy, endedByFault } from './domain/query.js';
import { covers, cutPage, judgeAsked } from './domain/row-window.js';
import { EngineFault, type EngineFaultKind, type StatementClient } from './domain/statement-client.js';
import type { StatementPage } from './domain/statement-page.js';
import type { QueryMetrics } from './query.metrics.js';

/** Resources that the executions of one replica share. */
export interface ExecutionResources {
  client: StatementClient;
  store: QueryStore;
  timers: Timers;
  clock: Clock;
  log: Log;
  metrics: QueryMetrics;
  held: HeldBytes;
  /** This replica. */
  replica: string;
  /** 0: no limit. */
  maxRows: number;
}

/** QUERY_MAX_HELD_BYTES are held: the page is fetched again at the next tick. */
class NoRoom extends NamedError {}
/** The reader of the page before holds the room for this one, and asks for it then. */
class RoomIsRead extends NamedError {}

/** Made once: it is no failure, and nobody reads its stack. */
const RELEASED = new NamedError('the query is not executed here any more');

/** Milliseconds before a path that led to itself is fetched again. */
const SAME_PATH_PAUSE = 100;

/**
 * One query, executed by this replica. Its pages are fetched until one has rows; that one is held, and no more is fetched before
 * it has been read. The stored state is always ahead of the engine, so that another replica can take over at any moment.
 * No method waits for another query, and no reader keeps this one from ending.
 */
@Opaque
export class QueryExecution {
  private readonly session: EngineSession;
  private readonly span: Span;
  private readonly released = new AbortController();
  /** By Timers; null: this replica executes the query. */
  releasedAt: number | null = null;
  /** How this replica ended the query; null: it has not. The last page of a finished one can be asked for again. */
  ending: Ending | null = null;
  /** The page that waits for its reader, in memory. */
  private waiting: HeldPage | null = null;
  /** The page before that one, until newer rows are handed out. */
  private before: HeldPage | null = null;
  private lastTaken: TakenPage | null = null;
  /** Readers come one after the other, each bounded by the time that a reader waits. */
  private readonly reading = inTurn();
  /** A reader waits for rows that nobody has read. */
  private isReadOn = false;
  private readonly saving = inTurn();
  /** Changes of the state so far, and those that are stored. */
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

  /** The query has ended, or another replica executes it. */
  isReleased(): boolean {
    return this.releasedAt !== null;
  }

  /** Takes the answer to the POST; further pages are fetched in the background. @returns null: it has ended. @throws EngineFault */
  async begin(page: StatementPage): Promise<Readonly<ExecutionState> | null> {
    const ending = this.take(page, null, this.resources.held.open(this.state.runAs));
    if (!(await (ending === null ? this.save() : this.end(ending, false)))) {
      this.release();
      // Ended while its POST was under way: no other replica knows the path that cancels it.
      if (page.nextPath !== null) await this.resources.client.cancel(page.nextPath, this.session);
    }
    if (this.isReleased()) return null;
    void this.resume();
    return this.state;
  }

  /**
   * Fetches the page that waits where it is not in memory, or else pages until one has rows or the query ends. The engine's faults
   * end the query; failures of our own (a database that is away) are retried at the next tick. Never rejects.
   */
  readonly resume = singleFlight(async () => {
    try {
      await this.fetchPages();
    } catch (error) {
      if (this.isReleased() || error instanceof RoomIsRead) return;
      const isFault = error instanceof EngineFault;
      this.warn(isFault ? 'the engine did not continue a query' : 'a query will be resumed after a failure', error);
      if (isFault) await this.endByFault(error.kind);
    }
  });

  /** The rows from that one on; an empty page with the same cursor when none come in time. Null: another replica executes the query, or ended it. */
  rows(from: number, limit: number): Promise<RowsResult | null> {
    return this.reading(() => this.read(from, limit));
  }

  /**
   * Does what is due by now: an end, a sign of life for the engine, another attempt after a failure of ours. May be called
   * while an earlier tick is still under way. Resolves when what it began is done.
   */
  async tick(): Promise<void> {
    if (this.isReleased()) return;
    const action = this.nextAction();
    if (action === 'expire') await this.end(endedBy('query_timeout'));
    else if (action === 'abandon') await this.end(endedBy('query_abandoned'));
    else if (action === 'resume' && this.before?.isBeingRead !== true) void this.resume();
    else {
      await (action === 'fetch-next' ? this.passReadPage() : this.save());
      await this.keepAlive();
    }
  }

  /** Ends the query in the store, and on the engine if it still runs there. @returns false: it is not ours. */
  async end(ending: Ending, runsOnEngine = this.state.nextPath !== null): Promise<boolean> {
    if (this.isReleased()) return false;
    const { store, clock, replica, metrics, client } = this.resources;
    const { id, nextPath } = this.state;
    const isOurs = await store.end(id, replica, ending, clock.now(), this.toStore());
    if (isOurs) this.span.setAttribute('grantline.state', ending.state);
    if (isOurs) this.ending = ending;
    this.release();
    if (!isOurs) return false;
    metrics.ended(ending);
    if (runsOnEngine && nextPath !== null) await client.cancel(nextPath, this.session);
    return true;
  }

  /** Stops executing, without a request to the engine: the query has ended, or another replica executes it. */
  release(): void {
    if (!this.isReleased()) this.span.end();
    this.releasedAt ??= this.resources.timers.now();
    if (this.ending?.state !== 'finished') this.forgetPages();
    this.released.abort(RELEASED);
  }

  /** No page can be asked for again. */
  forgetPages(): void {
    this.waiting?.release();
    this.waiting = null;
    this.dropBefore();
  }

  private nextAction(): ReturnType<typeof nextAction> {
    return nextAction({ ...this.state, isReadOn: this.isReadOn }, this.resources.clock.now());
  }

  private async read(from: number, limit: number): Promise<RowsResult | null> {
    const asked = judgeAsked(from, this.state.newestFrom, this.state.rowsReturned);
    if (asked === 'gone' || asked === 'unknown-place') return { kind: asked };
    if (this.isReleased()) return asked === 'newest' ? this.newestPage() : this.rowsAfterEnd(from);
    this.isReadOn = asked === 'next';
    try {
      return await this.readPage(from, limit, asked);
    } finally {
      this.isReadOn = false;
    }
  }

  private async readPage(from: number, limit: number, asked: 'next' | 'newest'): Promise<RowsResult | null> {
    const { timers } = this.resources;
    if (this.isElsewhere()) await timers.atMost(EXECUTION_TIMEOUTS.read, this.resume());
    const held = this.waiting;
    if (held !== null && covers(held, from)) return this.handOut(held, from, limit);
    if (!this.isReleased() && !this.isElsewhere()) {
      if (asked === 'newest') return this.newestPage();
      this.turn();
      if (this.before?.isBeingRead !== true) this.dropBefore();
      await timers.atMost(EXECUTION_TIMEOUTS.read, this.resume());
      if (this.waiting !== null) return this.handOut(this.waiting, from, limit);
    }
    return this.isReleased()
      ? this.rowsAfterEnd(from)
      : { kind: 'page', page: smallPage(this.state.columns ?? [], [], from) };
  }

  private rowsAfterEnd(from: number): RowsResult | null {
    return this.ending && rowsOfEnded(this.ending, this.state, from);
  }

  /** The newest page as it was handed out, though the engine may have advanced since. */
  private newestPage(): RowsResult | null {
    const { newestFrom: from, rowsReturned: to } = this.state;
    const held = [this.waiting, this.before].find((page) => page !== null && covers(page, from)) ?? null;
    if (held === null) return this.isReleased() ? this.rowsAfterEnd(from) : { kind: 'gone' };
    return { kind: 'page', page: this.rowsOf(held, { from, to, next: this.isReleased() ? null : to }) };
  }

  private async handOut(held: HeldPage, from: number, limit: number): Promise<RowsResult | null> {
    const { maxRows, clock, metrics } = this.resources;
    const { to, reached } = cutPage(from, limit, held, maxRows);
    const isLast = reached === 'max-rows' || (reached === 'end-of-page' && this.state.nextPath === null);
    const page = this.rowsOf(held, { from, to, next: isLast ? null : to });
    const delivered = Math.max(0, to - this.state.rowsReturned); // not again for a page that is asked for again
    // A stream that breaks off ends its query, so that no row of it is asked for again: the next page can come meanwhile.
    const readsAhead = limit === Infinity && !isLast;
    this.change({ newestFrom: from, rowsReturned: to, waitingSince: clock.now() });
    if (readsAhead) this.turn();
    const ending: Ending = { state: 'finished', truncated: reached === 'max-rows', updateCount: null };
    let isOurs = false;
    try {
      isOurs = await (isLast ? this.end(ending) : this.save());
    } finally {
      if (!isOurs) page.release();
    }
    if (!isOurs) {
      this.release();
      return null;
    }
    metrics.delivered(delivered);
    if (readsAhead) void this.resume();
    else this.dropBefore();
    return { kind: 'page', page };
  }

  private rowsOf(held: HeldPage, range: RowRange): RowsPage {
    return held.read(range, this.state.columns ?? [], () => void this.endByFault('protocol'));
  }

  /** A page waits that another replica held. */
  private isElsewhere(): boolean {
    return this.waiting === null && this.state.waitingSince !== null && this.state.pagePath !== null;
  }

  private async fetchPages(): Promise<void> {
    for (let asked: string | null = null; ;) {
      while (this.changes !== this.saved && !this.isReleased()) if (!(await this.save())) this.release();
      const { waitingSince, nextPath, pagePath, pageStart } = this.state;
      const isElsewhere = this.isElsewhere();
      const path = isElsewhere ? pagePath : nextPath;
      if (this.isReleased() || path === null || (waitingSince !== null && !isElsewhere)) return;
      if (path === asked) await this.resources.timers.wait(SAME_PATH_PAUSE, this.released.signal);
      asked = path;
      const { page, room } = await this.fetch(path);
      if (isElsewhere) {
        this.hold(page, path, room, pageStart);
        return;
      }
      const isRepeat = isRepeated(page, path, this.lastTaken);
      const ending = this.take(isRepeat ? { ...page, rows: PageRows.NONE } : page, path, room);
      if (ending !== null) await this.end(ending, false);
      // A page for which a reader waits is stored with its rows.
      if (ending !== null || (this.waiting !== null && this.isReadOn)) return;
    }
  }

  /** Counts the bytes as they are received. @throws EngineFault @throws NoRoom @throws RoomIsRead */
  private async fetch(path: string): Promise<{ page: StatementPage; room: Room }> {
    const { client, clock, timers, held, metrics } = this.resources;
    const { runAs, deadlineAt, rowsReturned } = this.state;
    const room = held.open(runAs);
    const onBytes = (bytes: number): void => {
      const claim = room.atLeast(bytes);
      if (claim === 'full') throw new NoRoom('QUERY_MAX_HELD_BYTES are held');
      if (claim === 'share' && this.before?.isBeingRead === true) throw new RoomIsRead('a share is being read');
      if (claim === 'share') throw new EngineFault('share', 'more than a share of QUERY_MAX_HELD_BYTES');
    };
    try {
      const deadline = timers.now() + deadlineAt.getTime() - clock.now().getTime();
      const limits = { deadline, rowsHandedOut: rowsReturned > 0, signal: this.released.signal, onBytes };
      const { page } = await client.advance(path, this.session, limits);
      return { page, room };
    } catch (error) {
      room.release();
      if (error instanceof EngineFault) metrics.pageFailed(error.kind);
      if (error instanceof NoRoom) metrics.pageFailed('memory');
      throw error;
    }
  }

  /** @param path where the page was found; null: in the answer to the POST. @throws EngineFault */
  private take(page: StatementPage, path: string | null, room: Room): Ending | null {
    const verdict = judgePage(page);
    if (verdict.kind === 'hold') this.hold(page, path, room, this.state.rowsReturned);
    else room.release();
    this.change(changesBy(verdict, page, path, this.state, this.resources.clock.now()));
    return verdict.kind === 'end' ? verdict.ending : null;
  }

  private hold({ rows, nextPath }: StatementPage, path: string | null, room: Room, start: number): void {
    if (this.isReleased()) room.release();
    else this.waiting = new HeldPage(start, rows, room);
    if (path !== null) this.lastTaken = { path, nextPath, rows: rows.length, size: rows.size };
  }

  /** The page that waited has been read to its end: the next one may be fetched. */
  private turn(): void {
    if (this.waiting === null) return;
    this.dropBefore();
    this.before = this.waiting;
    this.waiting = null;
    this.change({ waitingSince: null, pagePath: null });
  }

  /** It cannot be asked for again: its readers alone hold it. */
  private dropBefore(): void {
    this.before?.release();
    this.before = null;
  }

  /** Fetches the next page if the one that waits has been read to its end a while ago. */
  private readonly passReadPage = singleFlight(async () => {
    await this.resume();
    // After the readers that came meanwhile: what they leave decides.
    await this.reading(() => {
      const isDue = !this.isReleased() && this.nextAction() === 'fetch-next';
      if (isDue && this.waiting?.isReadTo(this.state.rowsReturned) === true) this.turn();
      return Promise.resolve();
    });
    void this.resume();
  });

  /** A sign of life for the page that waits, or that is next, if the last one was a while ago. */
  private async keepAlive(): Promise<void> {
    const { timers, client } = this.resources;
    const path = this.state.pagePath ?? this.state.nextPath;
    if (path === null || timers.now() - this.keptAliveAt < EXECUTION_TIMEOUTS.keepAlive) return;
    this.keptAliveAt = timers.now();
    await client.keepAlive(path, this.session);
  }

  private change(changes: Partial<ExecutionState>): void {
    Object.assign(this.state, changes);
    this.changes += 1;
  }

  /** Stores what has changed, one statement after the other. @returns false: another replica executes the query, or it has ended. */
  private save(): Promise<boolean> {
    return this.saving(async () => {
      const { changes, state, resources } = this;
      if (changes === this.saved) return true;
      const hasColumns = state.columns !== null;
      const isOurs = await resources.store.save(resources.replica, this.toStore());
      if (isOurs) this.saved = changes;
      this.hasSavedColumns ||= hasColumns;
      return isOurs;
    });
  }

  private toStore(): Readonly<ExecutionState> {
    return this.hasSavedColumns ? { ...this.state, columns: null } : this.state;
  }

  private async endByFault(kind: EngineFaultKind): Promise<void> {
    await this.end(endedByFault(kind)).catch((error: unknown) => {
      this.warn("a query's end could not be stored; it will be tried again", error);
    });
  }

  /** Without the error itself: a database's error carries the values that it was given, and paths are among them. */
  private warn(message: LogMarker, error: unknown): void {
    const reason = error instanceof Error ? `${error.name}: ${error.message}` : 'unknown';
    this.resources.log.warn(message, { query_id: this.state.id, reason });
  }
}
