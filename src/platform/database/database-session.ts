import { AsyncLocalStorage } from 'node:async_hooks';
import { types } from 'node:util';
import { Injectable } from '@nestjs/common';
import type { Pool, QueryConfig, QueryResultRow } from 'pg';
import { DataSource, type EntityManager } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { Transaction, TransactionDeadlock } from './transaction.js';

/** Timeout of prepared queries in milliseconds. They read and write single rows, so a server that takes longer no longer works. */
const LONGEST_PREPARED = 5_000;

/** The transaction of the current asynchronous context. Stores run their queries on `manager`. */
@Injectable()
export class DatabaseSession extends Transaction {
  /** `hasEnded` excludes work that a transaction started but that outlasts it. */
  private readonly current = new AsyncLocalStorage<{ manager: EntityManager; hasEnded: boolean }>();

  constructor(private readonly source: DataSource) {
    super();
  }

  /** The manager of the running transaction, or else the default one. Stores must read it at each call and never keep it. */
  get manager(): EntityManager {
    return this.running ?? this.source.manager;
  }

  private get running(): EntityManager | undefined {
    const transaction = this.current.getStore();
    return transaction?.hasEnded === false ? transaction.manager : undefined;
  }

  get isInTransaction(): boolean {
    return this.running !== undefined;
  }

  /**
   * Runs a query that nearly every request makes. It is prepared once on each connection, and bypasses the ORM, which takes as long as the
   * query itself. In a transaction it runs unprepared on the transaction's connection.
   */
  async queryPrepared<Row extends QueryResultRow>(name: string, text: string, values: unknown[]): Promise<Row[]> {
    const transaction = this.running;
    if (transaction !== undefined) return transaction.query<Row[]>(text, values);
    const pool = (this.source.driver as PostgresDriver).master as Pool;
    // The driver supports a timeout for one query, which its types lack.
    const query: QueryConfig & { query_timeout: number } = { name, text, values, query_timeout: LONGEST_PREPARED };
    return (await pool.query<Row>(query)).rows;
  }

  /** Runs a statement. @returns its rows */
  async query<Row extends object>(statement: string, values: unknown[] = []): Promise<Row[]> {
    return rowsOf<Row>(await this.manager.query<unknown[]>(statement, values));
  }

  /** The first row of a statement; null: it has none. */
  async firstRow<Row extends object>(statement: string, values: unknown[] = []): Promise<Row | null> {
    return (await this.query<Row>(statement, values))[0] ?? null;
  }

  /** The row of a statement that always has one. */
  async oneRow<Row extends object>(statement: string, values: unknown[] = []): Promise<Row> {
    const [row] = await this.query<Row>(statement, values);
    if (row === undefined) throw new Error('a statement without the row that it always has');
    return row;
  }

  /**
   * Runs a statement that may violate a unique constraint, in a savepoint.
   * @param constraint null: any. @returns its rows; null: it violated the constraint, and nothing is changed
   */
  async queryUnlessTaken(constraint: string | null, statement: string, values: unknown[]): Promise<object[] | null> {
    try {
      return rowsOf(await this.manager.transaction((tx) => tx.query<unknown[]>(statement, values)));
    } catch (error) {
      const cause = answerOf(error);
      const violated = sqlState(error) === '23505' && cause !== null && 'constraint' in cause ? cause.constraint : null;
      if (violated === null || violated !== (constraint ?? violated)) throw error;
      return null;
    }
  }

  /** Runs an UPDATE or DELETE. @returns how many rows it changed */
  async execute(statement: string, values: unknown[]): Promise<number> {
    const [, changed] = await this.manager.query<[unknown, number]>(statement, values);
    return changed;
  }

  /** Runs reads outside of the running transaction, whose writes they do not see. */
  runOutside<T>(work: () => Promise<T>): Promise<T> {
    return this.current.exit(work);
  }

  override run<T>(work: () => Promise<T>): Promise<T> {
    if (this.isInTransaction) return work();
    return this.source
      .transaction(async (manager) => {
        const transaction = { manager, hasEnded: false };
        try {
          return await this.current.run(transaction, work);
        } finally {
          transaction.hasEnded = true;
        }
      })
      .catch((error: unknown) => {
        throw sqlState(error) === '40P01'
          ? new TransactionDeadlock('the transaction was undone', { cause: error })
          : error;
      });
  }
}

/** The rows of the ORM's answer. For an UPDATE or a DELETE they are its first element. */
function rowsOf<Row extends object>(answer: unknown[]): Row[] {
  return (Array.isArray(answer[0]) ? answer[0] : answer) as Row[];
}

/** SQLSTATE of a statement that waited for a lock longer than `lock_timeout`. */
export const LOCK_NOT_AVAILABLE = '55P03';

/** SQLSTATE of an error raised by PostgreSQL, also when TypeORM wrapped it; null otherwise. */
export function sqlState(error: unknown): unknown {
  const cause = answerOf(error);
  return cause !== null && 'code' in cause ? cause.code : null;
}

/** The driver's error, also when TypeORM wrapped it. */
function answerOf(error: unknown): Error | null {
  const cause: unknown = types.isNativeError(error) && 'driverError' in error ? error.driverError : error;
  return types.isNativeError(cause) ? cause : null;
}

/** Converts rows to one array for each column, for PostgreSQL's `unnest`. All rows must have as many values as the first. */
export function columnArrays(rows: readonly (readonly unknown[])[]): unknown[][] {
  return (rows[0] ?? []).map((_, column) => rows.map((row) => row[column]));
}
