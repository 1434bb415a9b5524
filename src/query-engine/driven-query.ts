import type { Clock } from '../kernel/clock.js';
import type { Log } from '../platform/log.js';
import { PATIENCE, whatIsDue } from './domain/due.js';
import { type EngineSession, sessionFor } from './domain/engine-session.js';
import { Opaque } from '../kernel/secret.js';
import type { Timers } from '../kernel/timers.js';
import type { PageBudget } from './domain/page-budget.js';
import { PageRows } from './domain/page-rows.js';
import { isRepeated, judgePage, standingAfter, stateOf, type TakenPage } from './domain/page-verdict.js';
import { type Ending, endedBy, endedByFault } from './domain/query.js';
import type { Drive, QueryStore } from './domain/query-store.js';
import { EngineFault, type EngineFaultKind, type StatementClient } from './domain/statement-client.js';
import type { StatementPage } from './domain/statement-page.js';
import { type HeldPage, HeldPages } from './held-pages.js';
import { type FetchedPage, PageFetcher } from './page-fetcher.js';

/** What the drivers of one replica share. */
export interface DriverContext {
  client: StatementClient;
  store: QueryStore;
  timers: Timers;
  clock: Clock;
  log: Log;
  /** This replica. */
  driver: string;
  /** 0: no limit. */
  maxRows: number;
  budget: PageBudget;
}

/** Milliseconds before a path that led to itself is asked again. */
const SAME_PATH_PAUSE = 100;

/**
 * One query on its way, driven by this replica. It asks the engine for pages until one has rows, holds that one, and
 * asks for no more before it has been read. What must not be lost stands in the database before the next request goes
 * out, so that another replica can take over at any moment: the engine gives its newest page again to whoever asks.
 */
@Opaque
export class DrivenQuery {
  private readonly pages = new HeldPages();
  private lastTaken: TakenPage | null = null;
  private mustLetGo = false;
  private readers = 0;
  private driving: Promise<void> | null = null;
  private overSince: number | null = null;
  private finished = false;
  private aliveToldAt: number;
  private readonly leaving = new AbortController();
  private readonly session: EngineSession;
  private readonly fetcher: PageFetcher;

  constructor(
    private readonly context: DriverContext,
    private readonly drive: Drive,
  ) {
    const { catalog, schema, traceToken } = drive;
    this.session = sessionFor(drive.runAs, { catalog, schema, traceToken });
    const { client, budget } = context;
    this.fetcher = new PageFetcher(client, budget, drive.runAs, this.session, this.leaving.signal);
    this.aliveToldAt = context.timers.now();
  }

  /** Where it stands. */
  get state(): Readonly<Drive> {
    return this.drive;
  }

  /** This replica does not drive it any more: it has ended, or another does. */
  isOver(): boolean {
    return this.overSince !== null;
  }

  isFinished(): boolean {
    return this.finished;
  }

  /** The page that holds that row, if it is in memory: also one that was let go of just now. */
  remembered(row: number): HeldPage | null {
    return this.pages.covering(row);
  }

  /** Nobody can ask for its last page any more. */
  forgetPages(): void {
    this.pages.drop();
  }

  /** Milliseconds since this replica stopped driving it; 0 while it drives. */
  get overFor(): number {
    return this.overSince === null ? 0 : this.context.timers.now() - this.overSince;
  }

  /** Takes the answer to the POST, and drives on from there without being waited for. */
  async begin(page: StatementPage): Promise<void> {
    const { client, budget } = this.context;
    const stillOurs = await this.take({ page, charge: budget.open(this.drive.runAs) }, null);
    // Ended while its POST was on the way: nobody else knows the path by which the engine can be told.
    if (!stillOurs && page.nextPath !== null) await client.cancel(page.nextPath, this.session);
    void this.goOn();
  }

  /** Asks the engine until rows wait or the query ends. Resolves then; never rejects. */
  goOn(): Promise<void> {
    this.driving ??= this.driveOn()
      .catch((error: unknown) => this.stumble(error))
      .catch((error: unknown) => {
        this.report('a query could not be ended; it will be tried again', error);
      })
      .finally(() => {
        this.driving = null;
      });
    return this.driving;
  }

  /** The page that waits, fetched again where another replica held it before; null: none waits. */
  async held(): Promise<HeldPage | null> {
    const { waitingSince, pagePath, pageStart } = this.drive;
    if (this.pages.waiting !== null || waitingSince === null || pagePath === null) return this.pages.waiting;
    try {
      const { page, charge } = await this.fetch(pagePath);
      if (this.isOver()) charge.release();
      else this.hold(pageStart, { page, charge }, pagePath);
    } catch (error) {
      await this.stumble(error);
    }
    return this.pages.waiting;
  }

  /** While a reader is at work, time demands nothing. */
  async whileRead<T>(work: () => Promise<T>): Promise<T> {
    this.readers += 1;
    try {
      return await work();
    } finally {
      this.readers -= 1;
    }
  }

  /** Those rows go to the reader. False: they must not, because another replica drives the query or it has ended. */
  async handOut(from: number, to: number): Promise<boolean> {
    const { store, clock, driver } = this.context;
    const now = clock.now();
    if (!(await store.handOut(this.drive.id, driver, from, to, now))) {
      this.leave();
      return false;
    }
    this.pages.forgetRead();
    Object.assign(this.drive, { newestFrom: from, rowsReturned: to, waitingSince: now });
    return true;
  }

  /** The page that was held has been read to its end: lets go of it, and asks for the next. Never rejects. */
  moveOn(): Promise<void> {
    this.pages.turn();
    this.mustLetGo = true;
    Object.assign(this.drive, { waitingSince: null, pagePath: null });
    return this.goOn();
  }

  /** What time demands: an end that is due, a sign of life for the engine, another try after trouble of ours. */
  async tick(): Promise<void> {
    if (this.isOver() || this.readers > 0) return;
    switch (whatIsDue(this.drive, this.context.clock.now())) {
      case 'expire':
        return this.end(endedBy('query_timeout'));
      case 'abandon':
        return this.end(endedBy('query_abandoned'));
      case 'go-on':
        return void this.goOn();
      case 'move-on':
        // A reader may have come while the page was fetched again.
        return (await this.isReadToItsEnd()) && this.readers === 0 ? void this.moveOn() : this.keepAlive();
      case 'wait':
        return this.keepAlive();
    }
  }

  /** Ends the query here, in the database, and on the engine if it still runs there. */
  async end(ending: Ending, runsOnEngine = this.drive.nextPath !== null): Promise<void> {
    if (this.isOver()) return;
    const { client, store, clock, driver } = this.context;
    const path = this.drive.nextPath;
    const ended = await store.end(this.drive.id, driver, ending, clock.now());
    this.finished = ended && ending.state === 'finished';
    this.leave();
    if (ended && runsOnEngine && path !== null) await client.cancel(path, this.session);
  }

  /** Ends the query for what the engine sent. Never rejects. */
  fail(kind: EngineFaultKind): Promise<void> {
    return this.end(endedByFault(kind)).catch((error: unknown) => {
      this.report('a query could not be ended; it will be tried again', error);
    });
  }

  /** Stops driving, without a word to the engine: it has ended, or another replica drives it, or will. */
  leave(): void {
    this.overSince ??= this.context.timers.now();
    if (!this.finished) this.pages.drop();
    this.leaving.abort();
  }

  private async keepAlive(): Promise<void> {
    const { timers, client } = this.context;
    const { pagePath } = this.drive;
    if (pagePath === null || timers.now() - this.aliveToldAt < PATIENCE.keepAlive) return;
    this.aliveToldAt = timers.now();
    await client.keepAlive(pagePath, this.session);
  }

  private async isReadToItsEnd(): Promise<boolean> {
    const held = await this.held();
    return held !== null && this.drive.rowsReturned === held.start + held.rows.length;
  }

  private async driveOn(): Promise<void> {
    // Written down first: from the next request on the engine does not give the old page again, whoever asks.
    if (this.mustLetGo && !(await this.context.store.letGoOfPage(this.drive.id, this.context.driver))) {
      this.leave();
      return;
    }
    this.mustLetGo = false;
    let asked: string | null = null;
    while (!this.isOver() && this.drive.waitingSince === null && this.drive.nextPath !== null) {
      const path = this.drive.nextPath;
      if (path === asked) await this.context.timers.wait(SAME_PATH_PAUSE, this.leaving.signal);
      asked = path;
      const fetched = await this.fetch(path);
      if (isRepeated(fetched.page, path, this.lastTaken)) fetched.page = { ...fetched.page, rows: PageRows.NONE };
      await this.take(fetched, path);
    }
  }

  private fetch(path: string): Promise<FetchedPage> {
    const { clock, timers } = this.context;
    const { deadlineAt, rowsReturned } = this.drive;
    const deadline = timers.now() + deadlineAt.getTime() - clock.now().getTime();
    return this.fetcher.fetch(path, { deadline, rowsHandedOut: rowsReturned > 0 });
  }

  private hold(start: number, { page, charge }: FetchedPage, path: string | null): void {
    this.pages.hold({ start, rows: page.rows, charge });
    if (path !== null) this.lastTaken = { path, nextPath: page.nextPath, rows: page.rows.length, size: page.rows.size };
  }

  /** @param path where the page was found; null: it is the answer to the POST. @returns whether it is ours to drive. */
  private async take(fetched: FetchedPage, path: string | null): Promise<boolean> {
    const { store, clock, driver } = this.context;
    const { page, charge } = fetched;
    const verdict = judgePage(page);
    let isHeld = false;
    try {
      const next = standingAfter(verdict, page, path, this.drive, clock.now());
      const state = page.rows.length > 0 ? 'running' : stateOf(page.engineState);
      const stillOurs = await store.progress(this.drive.id, driver, {
        ...next,
        state,
        startedAt: state === 'running' ? clock.now() : null,
        progressPercent: page.progressPercent,
        engineQueryId: page.queryId,
      });
      if (!stillOurs) {
        this.leave();
        return false;
      }
      this.drive.columns = next.columns;
      if (verdict.kind === 'end') await this.end(verdict.ending, false);
      else Object.assign(this.drive, next);
      isHeld = verdict.kind === 'hold' && !this.isOver();
      if (isHeld) this.hold(next.pageStart, fetched, path);
      return true;
    } finally {
      if (!isHeld) charge.release();
    }
  }

  /** The engine's faults end the query; trouble of our own (a database that is away) is waited out. */
  private async stumble(error: unknown): Promise<void> {
    if (this.isOver()) return;
    const isFault = error instanceof EngineFault;
    this.report(isFault ? 'the engine did not go on with a query' : 'a query will be tried again', error);
    if (isFault) await this.end(endedByFault(error.kind));
  }

  /** Without the error itself: a database's error carries the values that it was given, and paths are among them. */
  private report(what: string, error: unknown): void {
    const reason = error instanceof Error ? `${error.name}: ${error.message}` : 'unknown';
    this.context.log.warn(what, { query_id: this.drive.id, reason });
  }
}
