import { setImmediate } from 'node:timers/promises';
import { batchIterator } from './batch-iterator.js';
import { databaseError, faultError, InterfaceError, InternalError } from './domain/db-api-errors.js';
import { type EngineSession, type SessionChange, InvalidSession } from './domain/engine-session.js';
import { nativeRows } from './domain/engine-value.js';
import { type ColumnDescription, describe } from './domain/column-description.js';
import type { Column } from './domain/engine-type.js';
import { Opaque } from '../kernel/secret.js';
import type { Timers } from '../kernel/timers.js';
import { ProtocolBreach } from './domain/reading.js';
import { type Parameter, InvalidParameter, withParameters } from './domain/sql-literal.js';
import { EngineFault, type StatementAnswer, type StatementClient } from './domain/statement-client.js';
import type { StatementPage } from './domain/statement-page.js';
import { type Row, UnreadRows } from './unread-rows.js';

export interface ExecuteOptions {
  /** Ends the statement, on the engine too. */
  signal?: AbortSignal;
  /** Seconds for the whole statement, fetching included. */
  timeout?: number;
  /** Called with each answer of the engine; what it throws ends the statement. */
  onProgress?: (progress: Progress) => void;
}

/** How far a statement is; for display. */
export interface Progress {
  queryId: string;
  /** QUEUED, PLANNING, RUNNING, FINISHED, … */
  state: string;
  /** From 0 to 100; null while the engine reports none. */
  percent: number | null;
}

/** The connection as its cursors use it. */
interface Owner {
  readonly session: EngineSession;
  fold(change: SessionChange): void;
  forget(cursor: Cursor): void;
}

/** A running statement: its unread rows, and where the next page is. */
interface Running {
  page: StatementPage;
  /** Where that page was found; null: in the answer to the POST. */
  path: string | null;
  session: EngineSession;
  columns: readonly Column[] | null;
  decode: ((row: unknown) => Row) | null;
  /** Of that page. */
  unread: UnreadRows;
  handedOut: boolean;
  deadline: number;
  signal: AbortSignal;
  onProgress: ExecuteOptions['onProgress'];
}

const DEFAULT_TIMEOUT = 3_600;
/** Milliseconds between two signs of life; the engine gives a statement up after five minutes without one. */
const HEARTBEAT = 60_000;

/**
 * A DB-API cursor: one statement at a time. A page is fetched when the one before it has been read, so that a slow
 * reader slows the engine down and holds one page in memory. Leaving an iteration early cancels the statement.
 */
@Opaque
export class Cursor implements AsyncIterable<Row> {
  /** How many rows `fetchMany` returns by default. */
  arraySize = 1;
  private running: Running | null = null;
  private readonly closing = new AbortController();
  private isBusy = false;
  private heartbeat = new AbortController();

  constructor(
    private readonly client: StatementClient,
    private readonly timers: Timers,
    private readonly connection: Owner,
  ) {}

  /** The columns of the result; null before `execute` and after a statement without a result. */
  get description(): readonly ColumnDescription[] | null {
    const columns = this.running?.columns ?? [];
    return columns.length === 0 ? null : columns.map(describe);
  }

  /** Rows that the statement changed; -1 when it changes none, or is not at its end. */
  get rowCount(): number {
    const count = this.running?.page.updateCount ?? null;
    return count === null ? -1 : Number(count);
  }

  /** Null before `execute`. */
  get progress(): Progress | null {
    const page = this.running?.page ?? null;
    return page && { queryId: page.queryId, state: page.engineState, percent: page.progressPercent };
  }

  /** The engine's id of the statement; null before `execute`. */
  get queryId(): string | null {
    return this.running?.page.queryId ?? null;
  }

  /**
   * Runs a statement up to its first rows, or to its end when it has none. Question marks are filled by the engine.
   * @throws DatabaseError
   * @throws InterfaceError for a parameter or a session that cannot be sent, and on a closed cursor.
   */
  async execute(sql: string, parameters: readonly Parameter[] = [], options: ExecuteOptions = {}): Promise<void> {
    this.assertOpen();
    const { signal: given, timeout = DEFAULT_TIMEOUT, onProgress } = options;
    const signal = given === undefined ? this.closing.signal : AbortSignal.any([given, this.closing.signal]);
    await this.guarded(async () => {
      await this.cancel();
      this.running = null;
      const { session } = this.connection;
      const deadline = this.timers.now() + timeout * 1000;
      const answer = await this.client.submit(withParameters(sql, parameters), session, { deadline, signal });
      this.running = {
        ...{ page: answer.page, path: null, session, columns: null, decode: null, unread: new UnreadRows() },
        ...{ handedOut: false, deadline, signal, onProgress },
      };
      this.take(this.running, answer, null);
      while (this.running.unread.isRead() && this.running.page.nextPath !== null) await this.advance(this.running);
    });
  }

  /** The next row; null at the end. */
  async fetchOne(): Promise<Row | null> {
    return (await this.fetchMany(1))[0] ?? null;
  }

  /** Up to so many rows; fewer at the end only. */
  async fetchMany(count = this.arraySize): Promise<Row[]> {
    const running = this.required();
    const rows: Row[] = [];
    await this.guarded(async () => {
      while (rows.length < count) {
        const some = await this.some(running, count - rows.length);
        if (some.length === 0) break;
        rows.push(...some);
      }
    });
    running.handedOut ||= rows.length > 0;
    return rows;
  }

  /** Every row that is left, in memory at once. */
  async fetchAll(): Promise<Row[]> {
    const rows: Row[] = [];
    for await (const row of this) rows.push(row);
    return rows;
  }

  [Symbol.asyncIterator](): AsyncIterator<Row, undefined, undefined> {
    const batch = async (): Promise<readonly Row[]> => {
      const running = this.required();
      const rows = await this.guarded(() => this.some(running, Infinity));
      running.handedOut ||= rows.length > 0;
      return rows;
    };
    return batchIterator(batch, () => this.cancel());
  }

  /** Ends the statement on the engine, if it still runs there. */
  async cancel(): Promise<void> {
    const path = this.running?.page.nextPath ?? null;
    this.heartbeat.abort();
    if (this.running === null || path === null) return;
    this.running.page = { ...this.running.page, nextPath: null };
    await this.client.cancel(path, this.running.session);
  }

  /** Cancels, and accepts no further statement; a call that is under way throws InterfaceError. */
  async close(): Promise<void> {
    this.closing.abort(new InterfaceError('the cursor is closed'));
    this.connection.forget(this);
    await this.cancel();
  }

  private assertOpen(): void {
    if (this.closing.signal.aborted) throw new InterfaceError('the cursor is closed');
  }

  private required(): Running {
    this.assertOpen();
    if (this.running === null) throw new InterfaceError('no statement has been executed');
    return this.running;
  }

  /** Rows that are decoded at once, of this page or of one after it; none at the end. */
  private async some(running: Running, most: number): Promise<readonly Row[]> {
    for (;;) {
      const rows = running.unread.take(most);
      if (rows.length > 0 || running.page.nextPath === null) return rows;
      await this.advance(running);
    }
  }

  private async advance(running: Running): Promise<void> {
    const path = running.page.nextPath;
    if (path === null) return;
    const { deadline, signal, handedOut } = running;
    const limits = { deadline, rowsHandedOut: handedOut, signal, asksOnce: true };
    this.take(running, await this.client.advance(path, running.session, limits), path);
  }

  private take(running: Running, { page, change }: StatementAnswer, path: string | null): void {
    running.page = page;
    running.path = path;
    this.connection.fold(change);
    if (page.error !== null) throw databaseError(page.error, page.queryId);
    if (this.progress !== null) running.onProgress?.(this.progress);
    running.columns ??= page.columns;
    if (page.rows.length === 0) return;
    if (running.columns === null) throw new ProtocolBreach('rows without columns');
    running.decode ??= nativeRows(running.columns);
    running.unread = new UnreadRows(page.rows, running.decode);
  }

  /** One call at a time. Any failure cancels the statement, and is thrown as one of the DB-API's errors. */
  private async guarded<T>(work: () => Promise<T>): Promise<T> {
    if (this.isBusy) throw new InterfaceError('another call of this cursor is under way');
    this.isBusy = true;
    this.heartbeat.abort();
    try {
      const result = await work();
      void this.keepAlive();
      return result;
    } catch (error) {
      if (this.running !== null) this.running.unread = new UnreadRows();
      await this.cancel();
      throw this.translated(error);
    } finally {
      this.isBusy = false;
    }
  }

  /** Until the next call, tells the engine that its rows are still wanted, and ends the statement there when its time is over. */
  private async keepAlive(): Promise<void> {
    const { running, client, timers } = this;
    const [path, next] = [running?.path ?? null, running?.page.nextPath ?? null];
    if (running === null || path === null || next === null) return;
    const heartbeat = (this.heartbeat = new AbortController());
    await setImmediate(); // who reads on at once needs no timer
    await timers.every(HEARTBEAT, heartbeat.signal, async () => {
      if (timers.now() < running.deadline) return client.keepAlive(path, running.session);
      heartbeat.abort();
      // The next call still asks for the page, and throws: a result that was cut off is not taken for whole.
      await client.cancel(next, running.session);
    });
  }

  private translated(error: unknown): unknown {
    if (error instanceof InvalidParameter || error instanceof InvalidSession) return new InterfaceError(error.message);
    if (error instanceof ProtocolBreach) return new InternalError(error.message, { queryId: this.queryId });
    return error instanceof EngineFault ? faultError(error, this.queryId) : error;
  }
}
