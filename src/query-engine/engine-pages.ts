import type { Clock } from '../kernel/clock.js';
import { NamedError } from '../kernel/named-error.js';
import { singleFlight } from '../kernel/single-flight.js';
import type { Timers } from '../kernel/timers.js';
import type { EngineSession } from './domain/engine-session.js';
import type { Claim, PageBudget, PageCharge } from './domain/page-budget.js';
import { EXECUTION_TIMEOUTS } from './domain/next-action.js';
import { PageRows } from './domain/page-rows.js';
import { isRepeated, judgePage, type TakenPage } from './domain/page-verdict.js';
import type { QueryProgress } from './domain/query-store.js';
import type { Ending } from './domain/query.js';
import { EngineFault, type StatementClient } from './domain/statement-client.js';
import type { StatementPage } from './domain/statement-page.js';
import type { ExecutionRecord } from './execution-record.js';
import { type HeldPage, HeldPages } from './held-pages.js';
import type { QueryMetrics } from './query.metrics.js';
import { type RowRange, rowsOfHeldPage, type RowsPage } from './rows-page.js';

/** Resources that the pages of all queries share. */
export interface PageResources {
  client: StatementClient;
  timers: Timers;
  clock: Clock;
  budget: PageBudget;
  metrics: QueryMetrics;
}

/** A page of the engine, and its charge on the budget until that is released. */
interface FetchedPage {
  page: StatementPage;
  charge: PageCharge;
}

/** The budget is used up: the page is fetched again at the next tick. */
class BudgetExhausted extends NamedError {}

/** Who reads the page before has the room, and asks for this one after it. */
class RoomIsRead extends NamedError {}

/** How taking a page ended. `not-ours`: another replica executes the query, or it has ended. */
export type Taken = { kind: 'taken'; progress: QueryProgress; ending: Ending | null } | { kind: 'not-ours' };

/** Made once: it is no failure, and nobody reads its stack. */
const CLOSED = new NamedError('the pages are closed');

/** Milliseconds before a path that led to itself is fetched again. */
const SAME_PATH_PAUSE = 100;

/**
 * The pages of one query, between the engine and its readers. They are fetched until one has rows; that one is held, and no
 * more is fetched before it has been read. The record is always ahead of the engine, so that another replica can take over.
 */
export class EnginePages {
  private readonly inMemory = new HeldPages();
  private readonly closed = new AbortController();
  private lastTaken: TakenPage | null = null;
  private keptAliveAt: number;

  /** @param onBreach called for a value that its column's type cannot have. */
  constructor(
    private readonly resources: PageResources,
    private readonly record: ExecutionRecord,
    private readonly session: EngineSession,
    private readonly onBreach: () => void,
  ) {
    this.keptAliveAt = resources.timers.now();
  }

  /** The page that waits for a reader and is in memory. */
  get waiting(): HeldPage | null {
    return this.inMemory.waiting;
  }

  /** A page waits that is not in memory: another replica held it, or the budget evicted it. */
  isEvicted(): boolean {
    const { waitingSince, pagePath } = this.record.state;
    return this.waiting === null && waitingSince !== null && pagePath !== null;
  }

  /** All rows of the page that waits have been handed out. */
  get isReadToItsEnd(): boolean {
    const page = this.waiting;
    return page !== null && this.record.state.rowsReturned === page.start + page.rows.length;
  }

  /** A reader has not yet read the page before the next one, and will ask for that. */
  get isReadBehind(): boolean {
    return this.inMemory.isReadBehind;
  }

  /** The newest page as it was handed out, though the engine may have advanced since; null: it is not in memory. */
  newest(isLast: boolean): RowsPage | null {
    const { newestFrom: from, rowsReturned: to } = this.record.state;
    const held = this.inMemory.covering(from);
    return held === null ? null : this.rows(held, { from, to, next: isLast ? null : to });
  }

  rows(held: HeldPage, range: Omit<RowRange, 'columns'>): RowsPage {
    const columns = this.record.state.columns ?? [];
    return rowsOfHeldPage(held, { columns, ...range }, this.resources.budget, this.onBreach);
  }

  /** Takes the answer to the POST. @throws EngineFault */
  first(page: StatementPage): Promise<Taken> {
    return this.take({ page, charge: this.resources.budget.open(this.record.state.runAs) }, null);
  }

  /** Fetches pages until one waits, the query ends, or these pages are closed. @returns why no page waits, if it never will. @throws EngineFault */
  async fetchUntilRows(): Promise<Ending | 'not-ours' | null> {
    if (!(await this.record.releasePage())) return 'not-ours';
    const { state } = this.record;
    let asked: string | null = null;
    while (!this.closed.signal.aborted && state.waitingSince === null && state.nextPath !== null) {
      const path: string = state.nextPath;
      if (path === asked) await this.resources.timers.wait(SAME_PATH_PAUSE, this.closed.signal);
      asked = path;
      const fetched = await this.fetch(path).catch(unlessRoomIsRead);
      if (fetched === null) return null;
      if (isRepeated(fetched.page, path, this.lastTaken)) fetched.page = { ...fetched.page, rows: PageRows.NONE };
      const taken = await this.take(fetched, path);
      if (taken.kind === 'not-ours') return 'not-ours';
      if (taken.ending !== null) return taken.ending;
    }
    return null;
  }

  /** Fetches the page that waits again where it is not in memory; callers meanwhile share it. @throws EngineFault */
  readonly fetchEvicted = singleFlight(async (): Promise<void> => {
    const { pagePath, pageStart } = this.record.state;
    if (!this.isEvicted() || pagePath === null) return;
    const fetched = await this.fetch(pagePath);
    // A reader may have come, and gone on, only where the page was in memory; the query may have ended.
    if (this.closed.signal.aborted || !this.isEvicted()) fetched.charge.release();
    else this.hold(pageStart, fetched, pagePath);
  });

  /** A sign of life for the page that waits, or that is next, if the last one was a while ago. */
  async keepAlive(): Promise<void> {
    const { timers, client } = this.resources;
    const path = this.record.state.pagePath ?? this.record.state.nextPath;
    if (path === null || timers.now() - this.keptAliveAt < EXECUTION_TIMEOUTS.keepAlive) return;
    this.keptAliveAt = timers.now();
    await client.keepAlive(path, this.session);
  }

  /** The page that waited has been read to its end: its place is free for the next one. */
  turn(): void {
    this.inMemory.turn();
    this.record.finishPage();
  }

  /** Rows newer than the read page have been handed out. */
  forgetRead(): void {
    this.inMemory.forgetRead();
  }

  /** All rows have been read: what is in memory is there to be asked for again. */
  finish(): void {
    this.inMemory.finish();
  }

  /** No page can be asked for again. */
  drop(): void {
    this.inMemory.drop();
  }

  /** Fetches no more. */
  close(): void {
    this.closed.abort(CLOSED);
  }

  /** Counts the bytes as they are received. @throws EngineFault @throws BudgetExhausted */
  private async fetch(path: string): Promise<FetchedPage> {
    const { client, clock, timers, budget, metrics } = this.resources;
    const { runAs, deadlineAt, rowsReturned } = this.record.state;
    const charge = budget.open(runAs);
    const ending = new AbortController();
    const abort = (): void => ending.abort(this.closed.signal.reason);
    const onBytes = (bytes: number): void => {
      const claim = charge.atLeast(bytes);
      if (claim !== 'granted') ending.abort(this.noRoom(claim));
    };
    this.closed.signal.addEventListener('abort', abort, { once: true });
    try {
      const deadline = timers.now() + deadlineAt.getTime() - clock.now().getTime();
      const limits = { deadline, rowsHandedOut: rowsReturned > 0, signal: ending.signal, onBytes };
      const { page } = await client.advance(path, this.session, limits);
      return { page, charge };
    } catch (error) {
      charge.release();
      if (error instanceof EngineFault) metrics.pageFailed(error.kind);
      if (error instanceof BudgetExhausted) metrics.pageFailed('memory');
      throw error;
    } finally {
      this.closed.signal.removeEventListener('abort', abort);
    }
  }

  private noRoom(claim: Exclude<Claim, 'granted'>): Error {
    if (claim === 'full') return new BudgetExhausted('QUERY_MAX_HELD_BYTES are held');
    if (this.isReadBehind) return new RoomIsRead('a share of QUERY_MAX_HELD_BYTES is being read');
    return new EngineFault('share', 'more than a share of QUERY_MAX_HELD_BYTES');
  }

  /** @param path where the page was found; null: in the answer to the POST. */
  private async take(fetched: FetchedPage, path: string | null): Promise<Taken> {
    const { page, charge } = fetched;
    const verdict = judgePage(page);
    let isHeld = false;
    try {
      const progress = await this.record.progress(page, verdict, path);
      if (progress === null) return { kind: 'not-ours' };
      isHeld = verdict.kind === 'hold' && !this.closed.signal.aborted;
      if (isHeld) this.hold(this.record.state.pageStart, fetched, path);
      return { kind: 'taken', progress, ending: verdict.kind === 'end' ? verdict.ending : null };
    } finally {
      if (!isHeld) charge.release();
    }
  }

  private hold(start: number, { page, charge }: FetchedPage, path: string | null): void {
    this.inMemory.hold({ start, rows: page.rows, charge });
    if (path !== null) this.lastTaken = { path, nextPath: page.nextPath, rows: page.rows.length, size: page.rows.size };
  }
}

function unlessRoomIsRead(error: unknown): null {
  if (error instanceof RoomIsRead) return null;
  throw error;
}
