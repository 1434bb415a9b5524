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
 * prepared statements. Statements such as USE change this state for this connection only. The first statement opens the first socket.
 */
export class Connection {
  private readonly cursors = new Set<Cursor>();
  private isClosed = false;

  constructor(
    private readonly client: TrinoStatementClient,
    private readonly timers: Timers,
    private currentSession: EngineSession,
    private readonly onClosed: (connection: Connection) => void,
  ) {}

  get session(): EngineSession {
    return this.currentSession;
  }

  /** @throws InterfaceError once the connection is closed. */
  cursor(): Cursor {
    if (this.isClosed) throw new InterfaceError('the connection is closed');
    const cursor = new Cursor(this.client, this.timers, this);
    this.cursors.add(cursor);
    return cursor;
  }

  /** Ends every statement that still runs. */
  async close(): Promise<void> {
    this.isClosed = true;
    await Promise.all([...this.cursors].map((cursor) => cursor.close()));
    this.onClosed(this);
  }

  /** Called by cursors with the session changes of an answer. */
  applyChange(change: SessionChange): void {
    this.currentSession = sessionAfter(this.currentSession, change);
  }

  forgetCursor(cursor: Cursor): void {
    this.cursors.delete(cursor);
  }
}

export interface ExecuteOptions {
  /** A signal that cancels the statement. The statement then ends on the engine, not only in this process. */
  signal?: AbortSignal;
  /** Seconds for the whole statement, fetching included. */
  timeout?: number;
  /** Called with the progress after each answer of the engine. An error thrown by this function ends the statement. */
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
  private statement: RunningStatement | null = null;
  /** Fetched rows, of which the first `handedOutCount` have been handed out. */
  private rows: readonly Row[] = [];
  private handedOutCount = 0;
  private readonly closer = new AbortController();
  private isBusy = false;

  constructor(
    private readonly client: TrinoStatementClient,
    private readonly timers: Timers,
    private readonly connection: Connection,
  ) {}

  /** The columns of the result; null before `execute` and after a statement without a result. */
  get description(): readonly ColumnDescription[] | null {
    const columns = this.statement?.columns ?? [];
    return columns.length === 0 ? null : columns.map(describeColumn);
  }

  /** Number of rows that the statement changed; -1 for a statement that only reads or has not ended. */
  get rowCount(): number {
    const count = this.statement?.updateCount ?? null;
    return count === null ? -1 : Number(count);
  }

  /** The statement's progress; null before `execute`. */
  get progress(): Progress | null {
    return this.statement?.progress ?? null;
  }

  /** The engine's id of the statement; null before `execute`. */
  get queryId(): string | null {
    return this.statement?.queryId ?? null;
  }

  /**
   * Runs a statement up to its first rows, or to its end if it returns none. `parameters` are the values of its question marks.
   * @throws DatabaseError
   * @throws InterfaceError for a parameter or a session that cannot be sent, and on a closed cursor.
   */
  async execute(sql: string, parameters: readonly Parameter[] = [], options: ExecuteOptions = {}): Promise<void> {
    this.assertOpen();
    refuseUnknownOptions(options, ['signal', 'timeout', 'onProgress']);
    const { signal: callerSignal, timeout = DEFAULT_TIMEOUT, onProgress } = options;
    const signal = AbortSignal.any([this.closer.signal, ...(callerSignal === undefined ? [] : [callerSignal])]);
    await this.runAlone(async () => {
      await this.cancel();
      this.statement = null;
      const { client, timers, connection } = this;
      const { session } = connection;
      const deadline = timers.now() + timeout * 1000;
      const answer = await client.submit(statementText(sql, parameters), session, { deadline, signal });
      const onSessionChange = connection.applyChange.bind(connection);
      const context = { client, timers, session, deadline, signal, onSessionChange, onProgress };
      this.statement = new RunningStatement(context, answer);
      this.keepRows(await this.statement.firstBatch());
    });
  }

  /** The next row; null at the end. */
  async fetchOne(): Promise<Row | null> {
    return (await this.fetchMany(1))[0] ?? null;
  }

  /** The next `count` rows; fewer only at the end. */
  async fetchMany(count = this.arraySize): Promise<Row[]> {
    const statement = this.requireStatement();
    const rows: Row[] = [];
    await this.runAlone(async () => {
      while (rows.length < count) {
        const batch = await this.takeRows(statement, count - rows.length);
        if (batch.length === 0) break;
        for (const row of batch) rows.push(row);
      }
    });
    return rows;
  }

  /** All remaining rows, in memory at once. */
  fetchAll(): Promise<Row[]> {
    return this.fetchMany(Infinity);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Row, void, undefined> {
    const nextRows = (): Promise<readonly Row[]> => {
      const statement = this.requireStatement();
      return this.runAlone(() => this.takeRows(statement, Infinity));
    };
    try {
      for (let rows = await nextRows(); rows.length > 0; rows = await nextRows()) yield* rows;
    } finally {
      await this.cancel();
    }
  }

  /** Ends the statement on the engine, if it still runs there. */
  async cancel(): Promise<void> {
    await this.statement?.cancel();
  }

  /** Cancels the statement and accepts no further one. A call in progress throws InterfaceError. */
  async close(): Promise<void> {
    this.closer.abort(new InterfaceError('the cursor is closed'));
    this.connection.forgetCursor(this);
    await this.cancel();
  }

  /** Hands out at most `maxCount` fetched rows; if none are left, fetches the next batch first. Empty at the end of the result. */
  private async takeRows(statement: RunningStatement, maxCount: number): Promise<readonly Row[]> {
    if (this.handedOutCount === this.rows.length) this.keepRows(await statement.nextBatch());
    const handedOutRows = this.rows.slice(this.handedOutCount, this.handedOutCount + maxCount);
    this.handedOutCount += handedOutRows.length;
    return handedOutRows;
  }

  private keepRows(rows: readonly Row[]): void {
    this.rows = rows;
    this.handedOutCount = 0;
  }

  private assertOpen(): void {
    if (this.closer.signal.aborted) throw new InterfaceError('the cursor is closed');
  }

  private requireStatement(): RunningStatement {
    this.assertOpen();
    if (this.statement === null) throw new InterfaceError('no statement has been executed');
    return this.statement;
  }

  /** Runs `work`, and refuses any other call until `work` ends. A failure cancels the statement, and is thrown as an error of the DB-API. */
  private async runAlone<T>(work: () => Promise<T>): Promise<T> {
    if (this.isBusy) throw new InterfaceError('another call of this cursor is under way');
    this.isBusy = true;
    this.statement?.stopHeartbeat();
    try {
      const result = await work();
      void this.statement?.startHeartbeat();
      return result;
    } catch (error) {
      this.statement?.discardRows();
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

function describeColumn({ name, type, parsedType }: Column): ColumnDescription {
  const precisionMatch = /^(?:decimal|time|timestamp)\((\d+)(?:, ?(\d+))?\)/.exec(type);
  const toNumber = (text: string | undefined): number | null => (text === undefined ? null : Number(text));
  const [precision, scale] = [toNumber(precisionMatch?.[1]), toNumber(precisionMatch?.[2])];
  const unreportedFields = { displaySize: null, internalSize: null, nullOk: null };
  return { name, typeCode: type, type: parsedType, precision, scale, ...unreportedFields };
}
