import { AsyncLocalStorage } from 'node:async_hooks';
import { types } from 'node:util';
import { Injectable } from '@nestjs/common';
import { type Pool, Query, type QueryConfig, type QueryResultRow } from 'pg';
import { DataSource, type EntityManager } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { Transaction, TransactionDeadlock } from './transaction.js';

/** Milliseconds: they read and write single rows. A process of the server that answers none of them has stopped for good. */
const LONGEST_PREPARED = 5_000;

/**
 * A query that the driver sends as it is: it copies a plain configuration property by property, which takes as long as sending
 * it. The driver reads a query's own limit, too, which its types do not know.
 */
class PreparedQuery extends Query implements QueryConfig {
  readonly query_timeout = LONGEST_PREPARED;

  constructor(
    readonly name: string,
    readonly text: string,
    readonly values: unknown[],
  ) {
    super(text, values);
  }
}

/** The transaction of the current asynchronous context. Stores run their queries on `manager`. */
@Injectable()
export class DatabaseSession extends Transaction {
  private readonly current = new AsyncLocalStorage<EntityManager>();
  private running = 0;

  constructor(private readonly source: DataSource) {
    super();
  }

  /** For one call of a store: that of the running transaction, if there is one. Never stored. */
  get manager(): EntityManager {
    return this.current.getStore() ?? this.source.manager;
  }

  get isInTransaction(): boolean {
    return this.current.getStore() !== undefined;
  }

  /**
   * For the queries of nearly every request: prepared once on each connection, and without the ORM, which takes as long as
   * the query itself. In a transaction the query runs there, unprepared.
   */
  async prepared<Row extends QueryResultRow>(name: string, text: string, values: unknown[]): Promise<Row[]> {
    const transaction = this.current.getStore();
    if (transaction !== undefined) return transaction.query<Row[]>(text, values);
    const pool = (this.source.driver as PostgresDriver).master as Pool;
    const query: QueryConfig = new PreparedQuery(name, text, values);
    return (await pool.query<Row>(query)).rows;
  }

  /** Runs an INSERT, UPDATE or DELETE. @returns how many rows it changed */
  async changed(statement: string, values: unknown[]): Promise<number> {
    const [, changed] = await this.manager.query<[unknown, number]>(statement, values);
    return changed;
  }

  override run<T>(work: () => Promise<T>): Promise<T> {
    if (this.current.getStore() !== undefined) return work();
    return this.source
      .transaction((manager) => this.followed(manager, work))
      .catch((error: unknown) => {
        throw sqlState(error) === '40P01'
          ? new TransactionDeadlock('the transaction was undone', { cause: error })
          : error;
      });
  }

  /**
   * Before Node 24 an AsyncLocalStorage in use takes a tenth of the time of every request of the process, also outside of
   * transactions; so it is disabled after the last running transaction, and enabled by the next.
   */
  private async followed<T>(manager: EntityManager, work: () => Promise<T>): Promise<T> {
    this.running += 1;
    try {
      return await this.current.run(manager, work);
    } finally {
      this.running -= 1;
      if (this.running === 0) this.current.disable();
    }
  }
}

/** The unique constraint or index that an insert or update ran into (SQLSTATE 23505), as PostgreSQL names it; null: it was something else. */
export function violatedConstraint(error: unknown): string | null {
  const cause = answerOf(error);
  if (sqlState(error) !== '23505' || cause === null) return null;
  return 'constraint' in cause && typeof cause.constraint === 'string' ? cause.constraint : null;
}

/** PostgreSQL's own error, also out of the ORM's; null: the error did not come from it. */
export function sqlState(error: unknown): unknown {
  const cause = answerOf(error);
  return cause !== null && 'code' in cause ? cause.code : null;
}

/** The driver's error, also out of the ORM's. */
function answerOf(error: unknown): Error | null {
  const cause: unknown = types.isNativeError(error) && 'driverError' in error ? error.driverError : error;
  return types.isNativeError(cause) ? cause : null;
}
