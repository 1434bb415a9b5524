import { setImmediate } from 'node:timers/promises';
import { databaseError } from './domain/db-api-errors.js';
import type { EngineSession, SessionChange } from './domain/engine-session.js';
import type { Column } from './domain/engine-type.js';
import { nativeRows, type NativeValue } from './domain/engine-value.js';
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

/** The progress of a statement, for display. */
export interface Progress {
  queryId: string;
  /** QUEUED, PLANNING, RUNNING, FINISHED, … */
  state: string;
  /** From 0 to 100; null while the engine reports none. */
  percent: number | null;
}

/** Parameters of an execution. */
export interface StatementContext {
  client: TrinoStatementClient;
  timers: Timers;
  session: EngineSession;
  /** Deadline of the whole statement, on the monotonic clock of Timers. */
  deadline: number;
  signal: AbortSignal;
  /** Called with the session changes of each answer. */
  onChange: (change: SessionChange) => void;
  onProgress: ((progress: Progress) => void) | undefined;
}

/** Milliseconds between two keep-alive requests. The engine cancels a statement after five minutes without one. */
const HEARTBEAT = 60_000;

/**
 * A statement that the engine has accepted: its unread rows, and the path of its next page. After the first fully read page one page
 * is prefetched. A slow reader therefore holds at most two.
 */
export class RunningStatement {
  columns: readonly Column[] | null = null;
  private page: StatementPage;
  /** Path of the page; null: the page is the answer to the POST. */
  private path: string | null = null;
  private decode: (row: unknown) => Row = () => [];
  /** Unread rows of the page. Decoded as they are read, which is faster and takes less memory than all at once. */
  private batches = PageRows.NONE.batches();
  private hasHandedOut = false;
  /** Whether a whole page has been read and the reader asked for more. */
  private hasReadPage = false;
  /** The next page, if it was requested before the reader asked for it. */
  private prefetched: { path: string; answer: Promise<StatementAnswer> } | null = null;
  private heartbeat: AbortController | null = null;
  /** Number of calls by readers so far. */
  private calls = 0;

  /** @param accepted the answer to the POST. @throws as `nextBatch` does */
  constructor(
    private readonly setting: StatementContext,
    private readonly accepted: StatementAnswer,
  ) {
    this.page = accepted.page;
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
    this.acceptPage(this.accepted, null);
    return this.nextBatch();
  }

  /**
   * The next rows, of this page or of a later one. Empty at the end.
   * @throws DatabaseError @throws EngineFault @throws ProtocolBreach
   */
  async nextBatch(): Promise<readonly Row[]> {
    for (;;) {
      // Lets the prefetch proceed, which a reader that stays in the microtask queue would block.
      if (this.prefetched !== null) await setImmediate();
      const rows = this.batches.next();
      if (rows.done !== true) {
        this.hasHandedOut = true;
        return rows.value.map(this.decode);
      }
      if (this.page.nextPath === null) return [];
      this.hasReadPage = this.hasHandedOut;
      await this.advance(this.page.nextPath);
    }
  }

  /** Stops fetching, and ends the statement on the engine if it still runs there. */
  async cancel(): Promise<void> {
    const path = this.page.nextPath;
    this.stopHeartbeat();
    if (path === null) return;
    this.page = { ...this.page, nextPath: null };
    this.prefetched = null;
    await this.setting.client.cancel(path, this.setting.session);
  }

  /** Drops unread rows, so that no more rows are handed out. */
  discardRows(): void {
    this.batches = PageRows.NONE.batches();
  }

  /** Called at each call of a reader. */
  stopHeartbeat(): void {
    this.calls += 1;
    this.heartbeat?.abort();
    this.heartbeat = null;
  }

  /** Until the reader's next call, keeps the statement alive on the engine, and ends it there at the deadline. */
  async startHeartbeat(): Promise<void> {
    const { client, timers, session, deadline } = this.setting;
    const { nextPath } = this.page;
    const newest = this.prefetched?.path ?? this.path;
    if (newest === null || nextPath === null) return;
    const { calls } = this;
    await setImmediate();
    if (calls !== this.calls) return; // a reader that continues at once needs no timer
    const heartbeat = (this.heartbeat = new AbortController());
    await timers.repeat(HEARTBEAT, heartbeat.signal, async () => {
      if (timers.now() < deadline) return client.keepAlive(newest, session);
      heartbeat.abort();
      // The next call still requests the page and throws, so that a result that was cut off does not look complete.
      this.prefetched = null;
      await client.cancel(nextPath, session);
    });
  }

  private async advance(path: string): Promise<void> {
    const answer = this.prefetched?.answer ?? this.requestPage(path);
    this.prefetched = null;
    this.acceptPage(await answer, path);
    const { nextPath, rows } = this.page;
    if (!this.hasReadPage || nextPath === null || rows.length === 0) return;
    this.prefetched = { path: nextPath, answer: this.requestPage(nextPath) };
    this.prefetched.answer.catch(() => undefined); // the error is thrown when the rows are read
  }

  private requestPage(path: string): Promise<StatementAnswer> {
    const { client, session, deadline, signal } = this.setting;
    return client.advance(path, session, { deadline, rowsHandedOut: this.hasHandedOut, signal });
  }

  private acceptPage({ page, change }: StatementAnswer, path: string | null): void {
    this.page = page;
    this.path = path;
    this.setting.onChange(change);
    if (page.error !== null) throw databaseError(page.error, page.queryId);
    this.setting.onProgress?.(this.progress);
    this.columns ??= page.columns;
    if (page.rows.length === 0) return;
    if (this.columns === null) throw new ProtocolBreach('rows without columns');
    this.decode = nativeRows(this.columns);
    this.batches = page.rows.batches();
  }
}
