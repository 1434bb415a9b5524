import { AsyncLocalStorage } from 'node:async_hooks';
import { types } from 'node:util';
import { Injectable } from '@nestjs/common';
import type { Pool, QueryConfig, QueryResultRow } from 'pg';
import { DataSource, type EntityManager } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { Transaction, TransactionDeadlock } from './transaction.js';

/** Timeout of prepared queries. They read and write single rows, so a longer wait means that the server does not work. */
const PREPARED_TIMEOUT_MS = 5_000;

/** Runs the statements of stores: in the transaction of the current asynchronous context, or without one if none is running. */
@Injectable()
export class DatabaseSession extends Transaction {
  /** The transaction of each asynchronous context. `hasEnded` is true in work that goes on after its transaction. */
  private readonly transactionStorage = new AsyncLocalStorage<{ manager: EntityManager; hasEnded: boolean }>();

  constructor(private readonly source: DataSource) {
    super();
  }

  /** The manager of the running transaction, or else the default manager. Stores must get it for each call and never keep it. */
  get manager(): EntityManager {
    return this.runningManager ?? this.source.manager;
  }

  private get runningManager(): EntityManager | undefined {
    const transaction = this.transactionStorage.getStore();
    return transaction?.hasEnded === false ? transaction.manager : undefined;
  }

  get isInTransaction(): boolean {
    return this.runningManager !== undefined;
  }

  /**
   * Runs a query that nearly every request makes. The query is prepared once on each connection, and bypasses the ORM, which takes as long
   * as the query itself. In a transaction it runs unprepared on the transaction's connection.
   */
  async queryPrepared<Row extends QueryResultRow>(name: string, text: string, values: unknown[]): Promise<Row[]> {
    const transaction = this.runningManager;
    if (transaction !== undefined) return transaction.query<Row[]>(text, values);
    const pool = (this.source.driver as PostgresDriver).master as Pool;
    // `query_timeout` is added to the type, because the driver's types lack it.
    const query: QueryConfig & { query_timeout: number } = { name, text, values, query_timeout: PREPARED_TIMEOUT_MS };
    return (await pool.query<Row>(query)).rows;
  }

  async query<Row extends object>(statement: string, values: unknown[] = []): Promise<Row[]> {
    return rowsOf<Row>(await this.manager.query<unknown[]>(statement, values));
  }

  /** The first row that a statement returns; null: it returns none. */
  async firstRow<Row extends object>(statement: string, values: unknown[] = []): Promise<Row | null> {
    return (await this.query<Row>(statement, values))[0] ?? null;
  }

  /** The row of a statement that always returns a row. */
  async oneRow<Row extends object>(statement: string, values: unknown[] = []): Promise<Row> {
    const [row] = await this.query<Row>(statement, values);
    if (row === undefined) throw new Error('a statement without the row that it always has');
    return row;
  }

  /**
   * Runs a statement that may violate a unique constraint, in a savepoint.
   * @param constraint its name; null: any constraint. @returns the statement's rows; null: it violated the constraint and changed nothing
   */
  async queryUnlessTaken(constraint: string | null, statement: string, values: unknown[]): Promise<object[] | null> {
    try {
      return rowsOf(await this.manager.transaction((tx) => tx.query<unknown[]>(statement, values)));
    } catch (error) {
      const cause = driverError(error);
      const constraintName =
        sqlState(error) === '23505' && cause !== null && 'constraint' in cause ? cause.constraint : null;
      if (constraintName === null || constraintName !== (constraint ?? constraintName)) throw error;
      return null;
    }
  }

  /** Runs an UPDATE or DELETE. @returns how many rows it changed */
  async execute(statement: string, values: unknown[]): Promise<number> {
    const [, changedCount] = await this.manager.query<[unknown, number]>(statement, values);
    return changedCount;
  }

  /** Runs reads outside of the running transaction, so that they do not see its writes. */
  runOutside<T>(work: () => Promise<T>): Promise<T> {
    return this.transactionStorage.exit(work);
  }

  override run<T>(work: () => Promise<T>): Promise<T> {
    if (this.isInTransaction) return work();
    return this.source
      .transaction(async (manager) => {
        const transaction = { manager, hasEnded: false };
        try {
          return await this.transactionStorage.run(transaction, work);
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

/** The rows in the ORM's answer. The answer to an UPDATE or a DELETE has the list of rows as its first element. */
function rowsOf<Row extends object>(answer: unknown[]): Row[] {
  return (Array.isArray(answer[0]) ? answer[0] : answer) as Row[];
}

/** SQLSTATE of a statement that waited for a lock longer than `lock_timeout`. */
export const LOCK_NOT_AVAILABLE = '55P03';

/** The code of an error, also if TypeORM wrapped the error. For errors of PostgreSQL the code is the SQLSTATE. Null: no code. */
export function sqlState(error: unknown): unknown {
  const cause = driverError(error);
  return cause !== null && 'code' in cause ? cause.code : null;
}

/** The driver's error, also when TypeORM wrapped it. */
function driverError(error: unknown): Error | null {
  const cause: unknown = types.isNativeError(error) && 'driverError' in error ? error.driverError : error;
  return types.isNativeError(cause) ? cause : null;
}

/** Converts rows to one array for each column, for PostgreSQL's `unnest`. @param columnCount required if `rows` may be empty */
export function columnArrays(rows: readonly (readonly unknown[])[], columnCount = rows[0]?.length ?? 0): unknown[][] {
  return Array.from({ length: columnCount }, (_, column) => rows.map((row) => row[column]));
}
