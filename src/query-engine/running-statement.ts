import { setImmediate } from 'node:timers/promises';
import { databaseError } from './domain/db-api-errors.js';
import type { EngineSession, SessionChange } from './domain/engine-session.js';
import type { Column } from './domain/engine-type.js';
import { nativeRows, type NativeValue } from './domain/engine-value.js';
import { PageRows } from './domain/page-rows.js';
import { ProtocolBreach } from './domain/reading.js';
import type { StatementAnswer, StatementClient } from './domain/statement-client.js';
import type { StatementPage } from './domain/statement-page.js';
import type { Timers } from '../kernel/clock.js';

export type Row = readonly NativeValue[];

/** How far a statement is; for display. */
export interface Progress {
  queryId: string;
  /** QUEUED, PLANNING, RUNNING, FINISHED, … */
  state: string;
  /** From 0 to 100; null while the engine reports none. */
  percent: number | null;
}

/** What a statement is executed with. */
export interface StatementSetting {
  client: StatementClient;
  timers: Timers;
  session: EngineSession;
  /** Of the whole statement, on the monotonic clock of Timers. */
  deadline: number;
  signal: AbortSignal;
  /** Called with the changes of the session that each answer brings. */
  fold: (change: SessionChange) => void;
  onProgress: ((progress: Progress) => void) | undefined;
}

/** Milliseconds between two signs of life; the engine gives a statement up after five minutes without one. */
const HEARTBEAT = 60_000;

/**
 * A statement that the engine has accepted: the rows that are unread, and where the next page is. Who has read a whole page is
 * taken to read on: from then on the engine is asked for one page ahead, and works on it while the one before is read. A
 * slow reader slows the engine down, and holds two pages.
 */
export class RunningStatement {
  columns: readonly Column[] | null = null;
  private page: StatementPage;
  /** Where that page was found; null: in the answer to the POST. */
  private path: string | null = null;
  private decode: ((row: unknown) => Row) | null = null;
  /** Of that page. */
  private unread = new UnreadRows();
  private handedOut = false;
  /** A whole page has been read, and more was asked for. */
  private isReadOn = false;
  /** The next page, where it has been asked for before its reader came. */
  private ahead: { path: string; answer: Promise<StatementAnswer> } | null = null;
  private heartbeat: AbortController | null = null;
  /** Of readers, so far. */
  private calls = 0;

  /** @param accepted the answer to the POST */
  constructor(
    private readonly setting: StatementSetting,
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

  /**
   * To be called first: waits for rows, or for the end where there are none.
   * @throws DatabaseError @throws EngineFault @throws ProtocolBreach
   */
  async untilRows(): Promise<void> {
    this.take(this.accepted, null);
    while (this.unread.isRead() && this.page.nextPath !== null) await this.advance();
  }

  /** Rows that are decoded at once, of this page or of one after it; none at the end. @throws as `untilRows` does */
  async some(most: number): Promise<readonly Row[]> {
    for (;;) {
      // Who reads in a loop of promises alone would hold back the request for the next page, and its bytes.
      if (this.ahead !== null && this.unread.needsDecoding) await setImmediate();
      const rows = this.unread.take(most);
      this.handedOut ||= rows.length > 0;
      if (rows.length > 0 || this.page.nextPath === null) return rows;
      this.isReadOn = this.handedOut;
      await this.advance();
    }
  }

  /** Forgets the rows that are unread, and ends the statement on the engine, if it still runs there. */
  async cancel(): Promise<void> {
    const path = this.page.nextPath;
    this.wake();
    if (path === null) return;
    this.page = { ...this.page, nextPath: null };
    this.ahead = null;
    await this.setting.client.cancel(path, this.setting.session);
  }

  /** No row is handed out any more. */
  drop(): void {
    this.unread = new UnreadRows();
  }

  /** A reader is there: no sign of life is needed. */
  wake(): void {
    this.calls += 1;
    this.heartbeat?.abort();
    this.heartbeat = null;
  }

  /** Until the next reader, tells the engine that its rows are still wanted, and ends the statement there when its time is over. */
  async rest(): Promise<void> {
    const { client, timers, session, deadline } = this.setting;
    const { nextPath } = this.page;
    const newest = this.ahead?.path ?? this.path;
    if (newest === null || nextPath === null) return;
    const { calls } = this;
    await setImmediate();
    if (calls !== this.calls) return; // who reads on at once needs no timer
    const heartbeat = (this.heartbeat = new AbortController());
    await timers.every(HEARTBEAT, heartbeat.signal, async () => {
      if (timers.now() < deadline) return client.keepAlive(newest, session);
      heartbeat.abort();
      // The next call still asks for the page, and throws: a result that was cut off is not taken for whole.
      this.ahead = null;
      await client.cancel(nextPath, session);
    });
  }

  private async advance(): Promise<void> {
    const path = this.page.nextPath;
    if (path === null) return;
    const answer = this.ahead?.answer ?? this.ask(path);
    this.ahead = null;
    this.take(await answer, path);
    const { nextPath } = this.page;
    if (!this.isReadOn || nextPath === null || this.page.rows.length === 0) return;
    this.ahead = { path: nextPath, answer: this.ask(nextPath) };
    this.ahead.answer.catch(() => undefined); // thrown where its rows would be read
  }

  private ask(path: string): Promise<StatementAnswer> {
    const { client, session, deadline, signal } = this.setting;
    return client.advance(path, session, { deadline, rowsHandedOut: this.handedOut, signal });
  }

  private take({ page, change }: StatementAnswer, path: string | null): void {
    this.page = page;
    this.path = path;
    this.setting.fold(change);
    if (page.error !== null) throw databaseError(page.error, page.queryId);
    this.setting.onProgress?.(this.progress);
    this.columns ??= page.columns;
    if (page.rows.length === 0) return;
    if (this.columns === null) throw new ProtocolBreach('rows without columns');
    this.decode ??= nativeRows(this.columns);
    this.unread = new UnreadRows(page.rows, this.decode);
  }
}

/** The rows of one page, decoded as they are read: some at a time, which is faster and takes less memory than all at once. */
class UnreadRows {
  /** Decoded rows, of which those before `position` have been read. */
  private rows: readonly Row[] = [];
  private position = 0;
  private readonly batches: Iterator<readonly unknown[], void, undefined>;

  constructor(
    rows: PageRows = PageRows.NONE,
    private readonly decode: (row: unknown) => Row = () => [],
  ) {
    this.batches = rows.batches();
  }

  /** Whether the next ones have to be decoded first. */
  get needsDecoding(): boolean {
    return this.position === this.rows.length;
  }

  /** Whether none are left, after decoding some more where necessary. @throws ProtocolBreach */
  isRead(): boolean {
    if (this.needsDecoding) {
      this.rows = (this.batches.next().value ?? []).map(this.decode);
      this.position = 0;
    }
    return this.rows.length === 0;
  }

  /** The next rows, at most so many; none at the end of the page. @throws ProtocolBreach */
  take(most: number): readonly Row[] {
    if (this.isRead()) return [];
    const from = this.position;
    this.position = Math.min(from + most, this.rows.length);
    return this.rows.slice(from, this.position);
  }
}
