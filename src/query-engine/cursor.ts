import { faultError, InterfaceError, InternalError, refuseUnknown } from './domain/db-api-errors.js';
import { type EngineSession, type SessionChange, InvalidSession } from './domain/engine-session.js';
import type { Column, EngineType } from './domain/engine-type.js';
import { Opaque } from '../kernel/secret.js';
import type { Timers } from '../kernel/clock.js';
import { ProtocolBreach } from './domain/reading.js';
import { type Parameter, InvalidParameter, statementText } from './domain/sql-literal.js';
import { EngineFault, type StatementClient } from './domain/statement-client.js';
import { type Progress, type Row, RunningStatement } from './running-statement.js';

export interface ExecuteOptions {
  /** Ends the statement, on the engine too. */
  signal?: AbortSignal;
  /** Seconds for the whole statement, fetching included. */
  timeout?: number;
  /** Called with each answer of the engine; what it throws ends the statement. */
  onProgress?: (progress: Progress) => void;
}

/** One column of a result (PEP 249, "Cursor attributes"); the engine reports no sizes and no nullability. */
export interface ColumnDescription {
  name: string;
  /** As the engine writes it: `decimal(3, 1)`. */
  typeCode: string;
  /** What its values are made of; of rows with the names of their fields. */
  type: EngineType;
  displaySize: null;
  internalSize: null;
  precision: number | null;
  scale: number | null;
  nullOk: null;
}

/** The connection as its cursors use it. */
interface Owner {
  readonly session: EngineSession;
  fold(change: SessionChange): void;
  forget(cursor: Cursor): void;
}

const DEFAULT_TIMEOUT = 3_600;
/**
 * A DB-API cursor: one statement at a time, whose rows come in pages as they are read (RunningStatement). Leaving an iteration
 * early cancels the statement.
 */
@Opaque
export class Cursor implements AsyncIterable<Row> {
  /** How many rows `fetchMany` returns by default. */
  arraySize = 1;
  private running: RunningStatement | null = null;
  private readonly closing = new AbortController();
  private isBusy = false;

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
    const count = this.running?.updateCount ?? null;
    return count === null ? -1 : Number(count);
  }

  /** Null before `execute`. */
  get progress(): Progress | null {
    return this.running?.progress ?? null;
  }

  /** The engine's id of the statement; null before `execute`. */
  get queryId(): string | null {
    return this.running?.queryId ?? null;
  }

  /**
   * Runs a statement up to its first rows, or to its end when it has none. Question marks are filled by the engine.
   * @throws DatabaseError
   * @throws InterfaceError for a parameter or a session that cannot be sent, and on a closed cursor.
   */
  async execute(sql: string, parameters: readonly Parameter[] = [], options: ExecuteOptions = {}): Promise<void> {
    this.assertOpen();
    refuseUnknown(options, ['signal', 'timeout', 'onProgress']);
    const { signal: given, timeout = DEFAULT_TIMEOUT, onProgress } = options;
    const signal = given === undefined ? this.closing.signal : AbortSignal.any([given, this.closing.signal]);
    await this.guarded(async () => {
      await this.cancel();
      this.running = null;
      const { client, timers, connection } = this;
      const { session } = connection;
      const deadline = timers.now() + timeout * 1000;
      const answer = await client.submit(statementText(sql, parameters), session, { deadline, signal });
      const fold = connection.fold.bind(connection);
      this.running = new RunningStatement({ client, timers, session, deadline, signal, fold, onProgress }, answer);
      await this.running.untilRows();
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
        const some = await running.some(count - rows.length);
        if (some.length === 0) break;
        rows.push(...some);
      }
    });
    return rows;
  }

  /** Every row that is left, in memory at once. */
  async fetchAll(): Promise<Row[]> {
    const rows: Row[] = [];
    for await (const row of this) rows.push(row);
    return rows;
  }

  [Symbol.asyncIterator](): AsyncIterator<Row, undefined, undefined> {
    const batch = (): Promise<readonly Row[]> => {
      const running = this.required();
      return this.guarded(() => running.some(Infinity));
    };
    return batchIterator(batch, () => this.cancel());
  }

  /** Ends the statement on the engine, if it still runs there. */
  async cancel(): Promise<void> {
    await this.running?.cancel();
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

  private required(): RunningStatement {
    this.assertOpen();
    if (this.running === null) throw new InterfaceError('no statement has been executed');
    return this.running;
  }

  /** One call at a time. Any failure cancels the statement, and is thrown as one of the DB-API's errors. */
  private async guarded<T>(work: () => Promise<T>): Promise<T> {
    if (this.isBusy) throw new InterfaceError('another call of this cursor is under way');
    this.isBusy = true;
    this.running?.wake();
    try {
      const result = await work();
      void this.running?.rest();
      return result;
    } catch (error) {
      this.running?.drop();
      await this.cancel();
      throw this.translated(error);
    } finally {
      this.isBusy = false;
    }
  }

  private translated(error: unknown): unknown {
    if (error instanceof InvalidParameter || error instanceof InvalidSession) return new InterfaceError(error.message);
    if (error instanceof ProtocolBreach) return new InternalError(error.message, { queryId: this.queryId });
    return error instanceof EngineFault ? faultError(error, this.queryId) : error;
  }
}

/**
 * Rows one by one out of batches, of which an empty one is the end. A row of a batch waits for one microtask, where a
 * generator's would wait for several.
 * @param close called at the end, and where a loop is left early.
 */
function batchIterator<T extends object>(
  fetch: () => Promise<readonly T[]>,
  close: () => Promise<void>,
): AsyncIterator<T, undefined, undefined> {
  let batch: readonly T[] = [];
  let position = 0;
  const end = async (): Promise<IteratorReturnResult<undefined>> => {
    batch = [];
    await close();
    return { done: true, value: undefined };
  };
  const next = async (): Promise<IteratorResult<T, undefined>> => {
    batch = await fetch();
    position = 1;
    const [value] = batch;
    return value === undefined ? end() : { done: false, value };
  };
  return {
    next: () => {
      const value = batch[position];
      position += 1;
      return value === undefined ? next() : Promise.resolve({ done: false, value });
    },
    return: end,
  };
}

function describe({ name, type, shape }: Column): ColumnDescription {
  const digits = /^(?:decimal|time|timestamp)\((\d+)(?:, ?(\d+))?\)/.exec(type);
  const number = (text: string | undefined): number | null => (text === undefined ? null : Number(text));
  const [precision, scale] = [number(digits?.[1]), number(digits?.[2])];
  return { name, typeCode: type, type: shape, displaySize: null, internalSize: null, precision, scale, nullOk: null };
}
