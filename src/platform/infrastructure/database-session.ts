import { AsyncLocalStorage } from 'node:async_hooks';
import { Injectable } from '@nestjs/common';
import type { Pool, QueryResultRow } from 'pg';
import { DataSource, type EntityManager } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { Transaction } from '../transaction.js';

/** The transaction that a request or run is in, kept with its asynchronous context. Stores ask `manager` for their queries. */
@Injectable()
export class DatabaseSession extends Transaction {
  private readonly current = new AsyncLocalStorage<EntityManager>();
  private running = 0;

  constructor(private readonly source: DataSource) {
    super();
  }

  /** For one call of a store: the running transaction's, or one that is in none. Never kept. */
  get manager(): EntityManager {
    return this.current.getStore() ?? this.source.manager;
  }

  /**
   * For what nearly every request asks: prepared once on each connection, and without the ORM around it, which takes as long
   * as the query does. In a transaction it is asked there, unprepared.
   */
  async prepared<Row extends QueryResultRow>(name: string, text: string, values: unknown[]): Promise<Row[]> {
    const transaction = this.current.getStore();
    if (transaction !== undefined) return transaction.query<Row[]>(text, values);
    const pool = (this.source.driver as PostgresDriver).master as Pool;
    return (await pool.query<Row>({ name, text, values })).rows;
  }

  override run<T>(work: () => Promise<T>): Promise<T> {
    if (this.current.getStore() !== undefined) return work();
    return this.source.transaction((manager) => this.followed(manager, work));
  }

  /**
   * Before Node 24 following a context takes a tenth of the time of every request of the process, also of those that are in no
   * transaction; so it ends with the last transaction that runs, and begins again with the next.
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
