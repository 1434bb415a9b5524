import { errorOfFault, InterfaceError, InternalError, refuseUnknownOptions } from './domain/db-api-errors.js';
import { type EngineSession, sessionAfter, InvalidSession, type SessionChange } from './domain/engine-session.js';
import type { Column, EngineType } from './domain/engine-type.js';
import { Opaque } from '../kernel/secret.js';
import type { Timers } from '../kernel/clock.js';
import { ProtocolBreach } from './domain/reading.js';
import { type Parameter, InvalidParameter, statementText } from './domain/sql-literal.js';
import { EngineFault } from './domain/engine-error.js';
import type { TrinoStatementClient } from './trino-statement-client.js';
import { type Progress, type Row, RunningStatement } from './running-statement.js';

/**
 * A DB-API connection (PEP 249 shape): one user, one catalog and schema, one set of session properties, roles and
 * prepared statements. Its statements change them, and no other connection sees them. It opens no socket before the first statement.
 */
export class Connection {
  private readonly cursors = new Set<Cursor>();
  private closed = false;

  constructor(
    private readonly client: TrinoStatementClient,
    private readonly timers: Timers,
    private current: EngineSession,
    private readonly onClosed: (connection: Connection) => void,
  ) {}

  /** The session of the next statement. */
  get session(): EngineSession {
    return this.current;
  }

  /** @throws InterfaceError once the connection is closed. */
  cursor(): Cursor {
    if (this.closed) throw new InterfaceError('the connection is closed');
    const cursor = new Cursor(this.client, this.timers, this);
    this.cursors.add(cursor);
    return cursor;
  }

  /** Ends every statement that still runs. */
  async close(): Promise<void> {
    this.closed = true;
    await Promise.all([...this.cursors].map((cursor) => cursor.close()));
    this.onClosed(this);
  }

  /** Called by cursors with the session changes of an answer. */
  applyChange(change: SessionChange): void {
    this.current = sessionAfter(this.current, change);
  }

  /** Called by a cursor when it is closed. */
  forget(cursor: Cursor): void {
    this.cursors.delete(cursor);
  }
}

export interface ExecuteOptions {
  /** Aborting it ends the statement, also on the engine. */
  signal?: AbortSignal;
  /** Seconds for the whole statement, fetching included. */
  timeout?: number;
  /** Called with each answer of the engine. An error that it throws ends the statement. */
  onProgress?: (progress: Progress) => void;
}

/** One column of a result (PEP 249, "Cursor attributes"); the engine reports no sizes and no nullability. */
export interface ColumnDescription {
  name: string;
  /** The type as the engine writes it: `decimal(3, 1)`. */
  typeCode: string;
  /** The structure of the column's values, with field names of rows. */
  type: EngineType;
  displaySize: null;
  internalSize: null;
  precision: number | null;
  scale: number | null;
  nullOk: null;
}

const DEFAULT_TIMEOUT = 3_600;
/**
 * A DB-API cursor: one statement at a time, whose pages are fetched as its rows are read (RunningStatement). Leaving an iteration
 * early cancels the statement.
 */
@Opaque
export class Cursor implements AsyncIterable<Row> {
  /** How many rows `fetchMany` returns by default. */
  arraySize = 1;
  private running: RunningStatement | null = null;
  /** Fetched rows. The rows before `position` have been handed out. */
  private rows: readonly Row[] = [];
  private position = 0;
  private readonly closing = new AbortController();
  private isBusy = false;

  constructor(
    private readonly client: TrinoStatementClient,
    private readonly timers: Timers,
    private readonly connection: Connection,
  ) {}

  /** The columns of the result; null before `execute` and after a statement without a result. */
  get description(): readonly ColumnDescription[] | null {
    const columns = this.running?.columns ?? [];
    return columns.length === 0 ? null : columns.map(describe);
  }

  /** Number of rows that the statement changed; -1 for a statement that changes none or has not ended. */
  get rowCount(): number {
    const count = this.running?.updateCount ?? null;
    return count === null ? -1 : Number(count);
  }

  /** The statement's progress; null before `execute`. */
  get progress(): Progress | null {
    return this.running?.progress ?? null;
  }

  /** The engine's id of the statement; null before `execute`. */
  get queryId(): string | null {
    return this.running?.queryId ?? null;
  }

  /**
   * Runs a statement up to its first rows, or to its end if it has none. The engine fills question marks with the parameters.
   * @throws DatabaseError
   * @throws InterfaceError for a parameter or a session that cannot be sent, and on a closed cursor.
   */
  async execute(sql: string, parameters: readonly Parameter[] = [], options: ExecuteOptions = {}): Promise<void> {
    this.assertOpen();
    refuseUnknownOptions(options, ['signal', 'timeout', 'onProgress']);
    const { signal: given, timeout = DEFAULT_TIMEOUT, onProgress } = options;
    const signal = given === undefined ? this.closing.signal : AbortSignal.any([given, this.closing.signal]);
    await this.runAlone(async () => {
      await this.cancel();
      this.running = null;
      const { client, timers, connection } = this;
      const { session } = connection;
      const deadline = timers.now() + timeout * 1000;
      const answer = await client.submit(statementText(sql, parameters), session, { deadline, signal });
      const onChange = connection.applyChange.bind(connection);
      this.running = new RunningStatement({ client, timers, session, deadline, signal, onChange, onProgress }, answer);
      this.keepRows(await this.running.firstBatch());
    });
  }

  /** The next row; null at the end. */
  async fetchOne(): Promise<Row | null> {
    return (await this.fetchMany(1))[0] ?? null;
  }

  /** The next `count` rows; fewer only at the end. */
  async fetchMany(count = this.arraySize): Promise<Row[]> {
    const running = this.requireRunning();
    const rows: Row[] = [];
    await this.runAlone(async () => {
      while (rows.length < count) {
        const taken = await this.takeRows(running, count - rows.length);
        if (taken.length === 0) break;
        for (const row of taken) rows.push(row);
      }
    });
    return rows;
  }

  /** All remaining rows, in memory at once. */
  fetchAll(): Promise<Row[]> {
    return this.fetchMany(Infinity);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Row, void, undefined> {
    const next = (): Promise<readonly Row[]> => {
      const running = this.requireRunning();
      return this.runAlone(() => this.takeRows(running, Infinity));
    };
    try {
      for (let rows = await next(); rows.length > 0; rows = await next()) yield* rows;
    } finally {
      await this.cancel();
    }
  }

  /** Ends the statement on the engine, if it still runs there. */
  async cancel(): Promise<void> {
    await this.running?.cancel();
  }

  /** Cancels the statement and accepts no further one. A call in progress throws InterfaceError. */
  async close(): Promise<void> {
    this.closing.abort(new InterfaceError('the cursor is closed'));
    this.connection.forget(this);
    await this.cancel();
  }

  /** At most `most` of the fetched rows or, if there are none, of the next batch. Empty at the end. */
  private async takeRows(running: RunningStatement, most: number): Promise<readonly Row[]> {
    if (this.position === this.rows.length) this.keepRows(await running.nextBatch());
    const some = this.rows.slice(this.position, this.position + most);
    this.position += some.length;
    return some;
  }

  private keepRows(rows: readonly Row[]): void {
    this.rows = rows;
    this.position = 0;
  }

  private assertOpen(): void {
    if (this.closing.signal.aborted) throw new InterfaceError('the cursor is closed');
  }

  private requireRunning(): RunningStatement {
    this.assertOpen();
    if (this.running === null) throw new InterfaceError('no statement has been executed');
    return this.running;
  }

  /** Runs one call at a time. A failure cancels the statement, and is thrown as an error of the DB-API. */
  private async runAlone<T>(work: () => Promise<T>): Promise<T> {
    if (this.isBusy) throw new InterfaceError('another call of this cursor is under way');
    this.isBusy = true;
    this.running?.stopHeartbeat();
    try {
      const result = await work();
      void this.running?.startHeartbeat();
      return result;
    } catch (error) {
      this.running?.discardRows();
      this.keepRows([]);
      await this.cancel();
      throw this.toDbApiError(error);
    } finally {
      this.isBusy = false;
    }
  }

  private toDbApiError(error: unknown): unknown {
    if (error instanceof InvalidParameter || error instanceof InvalidSession) return new InterfaceError(error.message);
    if (error instanceof ProtocolBreach) return new InternalError(error.message, { queryId: this.queryId });
    return error instanceof EngineFault ? errorOfFault(error, this.queryId) : error;
  }
}

function describe({ name, type, shape }: Column): ColumnDescription {
  const digits = /^(?:decimal|time|timestamp)\((\d+)(?:, ?(\d+))?\)/.exec(type);
  const number = (text: string | undefined): number | null => (text === undefined ? null : Number(text));
  const [precision, scale] = [number(digits?.[1]), number(digits?.[2])];
  return { name, typeCode: type, type: shape, displaySize: null, internalSize: null, precision, scale, nullOk: null };
}
