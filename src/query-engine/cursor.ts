import { databaseError, InterfaceError, InternalError, OperationalError } from './domain/db-api-errors.js';
import { type EngineSession, type SessionChange, InvalidSession } from './domain/engine-session.js';
import { nativeRows, type NativeValue } from './domain/engine-value.js';
import type { Column } from './domain/engine-type.js';
import { Opaque } from '../kernel/secret.js';
import type { Timers } from '../kernel/timers.js';
import { ProtocolBreach } from './domain/reading.js';
import { type Parameter, InvalidParameter, withParameters } from './domain/sql-literal.js';
import { EngineFault, type StatementAnswer, type StatementClient } from './domain/statement-client.js';
import type { StatementPage } from './domain/statement-page.js';

/** One column of a result (PEP 249, "Cursor attributes"); the engine reports no sizes and no nullability. */
export interface ColumnDescription {
  name: string;
  /** As the engine writes it: `decimal(3, 1)`. */
  typeCode: string;
  displaySize: null;
  internalSize: null;
  precision: number | null;
  scale: number | null;
  nullOk: null;
}

export interface ExecuteOptions {
  /** Ends the statement, on the engine too. */
  signal?: AbortSignal;
  /** Seconds for the whole statement, fetching included. */
  timeout?: number;
}

export type Row = readonly NativeValue[];

/** The connection as its cursors use it. */
interface Owner {
  readonly session: EngineSession;
  fold(change: SessionChange): void;
  forget(cursor: Cursor): void;
}

/** A running statement: its unread rows, and where the next page is. */
interface Running {
  page: StatementPage;
  session: EngineSession;
  columns: readonly Column[] | null;
  convert: ((row: unknown) => Row) | null;
  /** The rows of the current page, of which those before `position` have been read. */
  rows: readonly Row[];
  position: number;
  handedOut: boolean;
  deadline: number;
  signal: AbortSignal | undefined;
}

const DEFAULT_TIMEOUT = 3_600;

/**
 * A DB-API cursor: one statement at a time. A page is fetched when the one before it has been read, so that a slow
 * reader slows the engine down and holds one page in memory. Leaving an iteration early cancels the statement.
 */
@Opaque
export class Cursor implements AsyncIterable<Row> {
  /** How many rows `fetchMany` returns by default. */
  arraySize = 1;
  private running: Running | null = null;
  private closed = false;

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
    if (this.closed) throw new InterfaceError('the cursor is closed');
    await this.cancel();
    const { session } = this.connection;
    const deadline = this.timers.now() + (options.timeout ?? DEFAULT_TIMEOUT) * 1000;
    const limits = { deadline, ...(options.signal === undefined ? {} : { signal: options.signal }) };
    await this.guarded(async () => {
      const answer = await this.client.submit(withParameters(sql, parameters), session, limits);
      const { page } = answer;
      this.running = {
        page,
        session,
        columns: null,
        convert: null,
        rows: [],
        position: 0,
        handedOut: false,
        deadline,
        signal: options.signal,
      };
      this.take(this.running, answer);
      while (this.running.rows.length === 0 && this.running.page.nextPath !== null) await this.advance(this.running);
    });
  }

  /** The next row; null at the end. */
  async fetchOne(): Promise<Row | null> {
    return (await this.fetchMany(1))[0] ?? null;
  }

  /** Up to so many rows; fewer at the end only. */
  async fetchMany(count = this.arraySize): Promise<Row[]> {
    const running = this.required();
    let rows: Row[] = [];
    await this.guarded(async () => {
      while (rows.length < count) {
        const end = running.position + count - rows.length;
        rows = rows.concat(running.rows.slice(running.position, end));
        running.position = Math.min(end, running.rows.length);
        if (rows.length === count || running.page.nextPath === null) break;
        await this.advance(running);
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

  async *[Symbol.asyncIterator](): AsyncGenerator<Row, void, undefined> {
    try {
      for (;;) {
        const { rows: page, position } = this.required();
        const rows = await this.fetchMany(Math.max(1, page.length - position));
        if (rows.length === 0) return;
        yield* rows;
      }
    } finally {
      await this.cancel();
    }
  }

  /** Ends the statement on the engine, if it still runs there. */
  async cancel(): Promise<void> {
    const path = this.running?.page.nextPath ?? null;
    if (this.running === null || path === null) return;
    this.running.page = { ...this.running.page, nextPath: null };
    await this.client.cancel(path, this.running.session);
  }

  /** Cancels, and accepts no further statement. */
  async close(): Promise<void> {
    this.closed = true;
    this.connection.forget(this);
    await this.cancel();
  }

  private required(): Running {
    if (this.closed) throw new InterfaceError('the cursor is closed');
    if (this.running === null) throw new InterfaceError('no statement has been executed');
    return this.running;
  }

  private async advance(running: Running): Promise<void> {
    const path = running.page.nextPath;
    if (path === null) return;
    const { deadline, signal, handedOut } = running;
    const limits = { deadline, rowsHandedOut: handedOut, ...(signal === undefined ? {} : { signal }) };
    this.take(running, await this.client.advance(path, running.session, limits));
  }

  private take(running: Running, { page, change }: StatementAnswer): void {
    running.page = page;
    this.connection.fold(change);
    if (page.error !== null) throw databaseError(page.error, page.queryId);
    running.columns ??= page.columns;
    running.rows = [];
    running.position = 0;
    if (page.rows.length === 0) return;
    if (running.columns === null) throw new ProtocolBreach('rows without columns');
    running.convert ??= nativeRows(running.columns);
    running.rows = page.rows.read().map(running.convert);
  }

  /** Any failure cancels the statement, and is thrown as one of the DB-API's errors. */
  private async guarded(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      await this.cancel();
      throw this.translated(error);
    }
  }

  private translated(error: unknown): unknown {
    if (error instanceof InvalidParameter || error instanceof InvalidSession) return new InterfaceError(error.message);
    if (error instanceof ProtocolBreach) return new InternalError(error.message, null, this.queryId);
    if (!(error instanceof EngineFault)) return error;
    const Thrown = error.kind === 'protocol' ? InternalError : OperationalError;
    return new Thrown(error.message, null, this.queryId);
  }
}

function describe({ name, type }: Column): ColumnDescription {
  const digits = /^(?:decimal|time|timestamp)\((\d+)(?:, ?(\d+))?\)/.exec(type);
  const number = (text: string | undefined): number | null => (text === undefined ? null : Number(text));
  const [precision, scale] = [number(digits?.[1]), number(digits?.[2])];
  return { name, typeCode: type, displaySize: null, internalSize: null, precision, scale, nullOk: null };
}
