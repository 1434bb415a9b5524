import { setImmediate } from 'node:timers/promises';
import { databaseError } from './domain/db-api-errors.js';
import type { EngineSession, SessionChange } from './domain/engine-session.js';
import type { Column } from './domain/engine-type.js';
import { nativeRowConverter, type NativeValue } from './domain/engine-value.js';
import { PageRows } from './domain/page-rows.js';
import { ProtocolBreach } from './domain/reading.js';
import type { StatementAnswer, TrinoStatementClient } from './trino-statement-client.js';
import type { StatementPage } from './domain/statement-page.js';
import type { Timers } from '../kernel/clock.js';

export type Row = readonly NativeValue[];

/** The first two values of each row, for rows in which both are texts. */
export function textPairs(rows: readonly Row[]): [string, string][] {
  return rows.flatMap(([a, b]): [string, string][] => (typeof a === 'string' && typeof b === 'string' ? [[a, b]] : []));
}

export interface Progress {
  queryId: string;
  /** QUEUED, PLANNING, RUNNING, FINISHED, … */
  state: string;
  /** From 0 to 100; null while the engine reports none. */
  percent: number | null;
}

export interface StatementContext {
  client: TrinoStatementClient;
  timers: Timers;
  session: EngineSession;
  /** Deadline of the whole statement, on the monotonic clock of Timers. */
  deadline: number;
  signal: AbortSignal;
  /** Called with the session changes of each answer. */
  onSessionChange: (change: SessionChange) => void;
  onProgress: ((progress: Progress) => void) | undefined;
}

/** Milliseconds between two keep-alive requests. The engine cancels a statement after five minutes without one. */
const HEARTBEAT_INTERVAL = 60_000;

/**
 * A statement that the engine has accepted: its unread rows, and the path of its next page. At most one page is prefetched, so that a slow
 * reader holds at most two pages.
 */
export class RunningStatement {
  columns: readonly Column[] | null = null;
  private page: StatementPage;
  /** Path of `page`; null: it is the answer to the POST. */
  private pagePath: string | null = null;
  private decodeRow: (row: unknown) => Row = () => [];
  /** Unread rows of the page. Decoding them as they are read is faster and takes less memory than decoding all at once. */
  private rowBatches = PageRows.NONE.batches();
  private hasHandedOutRows = false;
  /** Whether the reader has asked for rows after a fully read page. */
  private hasReadPage = false;
  /** The next page, if it was requested before the reader asked for it. */
  private prefetchedPage: { path: string; answer: Promise<StatementAnswer> } | null = null;
  private heartbeat: AbortController | null = null;
  private readerCallCount = 0;

  /** @param firstAnswer the answer to the POST. @throws as `nextBatch` does */
  constructor(
    private readonly context: StatementContext,
    private readonly firstAnswer: StatementAnswer,
  ) {
    this.page = firstAnswer.page;
  }

  get queryId(): string {
    return this.page.queryId;
  }

  get updateCount(): bigint | null {
    return this.page.updateCount;
  }

  get progress(): Progress {
    const { queryId, engineState, progressPercent } = this.page;
    return { queryId, state: engineState, percent: progressPercent };
  }

  /** The first rows. Must be called once, before `nextBatch`. */
  async firstBatch(): Promise<readonly Row[]> {
    this.acceptPage(this.firstAnswer, null);
    return this.nextBatch();
  }

  /**
   * The next rows, of this page or of a later one. Empty at the end.
   * @throws DatabaseError @throws EngineFault @throws ProtocolBreach
   */
  async nextBatch(): Promise<readonly Row[]> {
    for (;;) {
      // Lets the prefetch proceed. A reader that never leaves the microtask queue would block it.
      if (this.prefetchedPage !== null) await setImmediate();
      const rows = this.rowBatches.next();
      if (rows.done !== true) {
        this.hasHandedOutRows = true;
        return rows.value.map(this.decodeRow);
      }
      if (this.page.nextPath === null) return [];
      this.hasReadPage = this.hasHandedOutRows;
      await this.advance(this.page.nextPath);
    }
  }

  /** Stops fetching, and ends the statement on the engine if it still runs there. */
  async cancel(): Promise<void> {
    const path = this.page.nextPath;
    this.stopHeartbeat();
    if (path === null) return;
    this.page = { ...this.page, nextPath: null };
    this.prefetchedPage = null;
    await this.context.client.cancel(path, this.context.session);
  }

  /** Drops unread rows, so that no more rows are handed out. */
  discardRows(): void {
    this.rowBatches = PageRows.NONE.batches();
  }

  /** Stops the keep-alive requests. Called at the beginning of each call by a reader. */
  stopHeartbeat(): void {
    this.readerCallCount += 1;
    this.heartbeat?.abort();
    this.heartbeat = null;
  }

  /** Keeps the statement alive on the engine until the reader's next call. Ends the statement on the engine at the deadline. */
  async startHeartbeat(): Promise<void> {
    const { client, timers, session, deadline } = this.context;
    const { nextPath } = this.page;
    const newestPath = this.prefetchedPage?.path ?? this.pagePath;
    if (newestPath === null || nextPath === null) return;
    const { readerCallCount } = this;
    await setImmediate();
    if (readerCallCount !== this.readerCallCount) return; // a reader that continues at once needs no timer
    const heartbeat = (this.heartbeat = new AbortController());
    await timers.repeat(HEARTBEAT_INTERVAL, heartbeat.signal, async () => {
      if (timers.now() < deadline) return client.keepAlive(newestPath, session);
      heartbeat.abort();
      // `nextPath` is kept, so that the reader's next call requests a page of the cancelled statement and throws. A partial result must not look complete.
      this.prefetchedPage = null;
      await client.cancel(nextPath, session);
    });
  }

  private async advance(path: string): Promise<void> {
    const answer = this.prefetchedPage?.answer ?? this.requestPage(path);
    this.prefetchedPage = null;
    this.acceptPage(await answer, path);
    const { nextPath, rows } = this.page;
    if (!this.hasReadPage || nextPath === null || rows.length === 0) return;
    this.prefetchedPage = { path: nextPath, answer: this.requestPage(nextPath) };
    this.prefetchedPage.answer.catch(() => undefined); // the error is thrown when the rows are read
  }

  private requestPage(path: string): Promise<StatementAnswer> {
    const { client, session, deadline, signal } = this.context;
    return client.advance(path, session, { deadline, rowsHandedOut: this.hasHandedOutRows, signal });
  }

  private acceptPage({ page, change }: StatementAnswer, path: string | null): void {
    this.page = page;
    this.pagePath = path;
    this.context.onSessionChange(change);
    if (page.error !== null) throw databaseError(page.error, page.queryId);
    this.context.onProgress?.(this.progress);
    this.columns ??= page.columns;
    if (page.rows.length === 0) return;
    if (this.columns === null) throw new ProtocolBreach('rows without columns');
    this.decodeRow = nativeRowConverter(this.columns);
    this.rowBatches = page.rows.batches();
  }
}
