import { AsyncLocalStorage } from 'node:async_hooks';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { Transaction } from '../transaction.js';

/** The transaction that a request or run is in, kept with its asynchronous context. Stores ask `manager` for their queries. */
@Injectable()
export class DatabaseSession extends Transaction {
  private readonly current = new AsyncLocalStorage<EntityManager>();

  constructor(private readonly source: DataSource) {
    super();
  }

  /** For one call of a store: the running transaction's, or one that is in none. Never kept. */
  get manager(): EntityManager {
    return this.current.getStore() ?? this.source.manager;
  }

  override run<T>(work: () => Promise<T>): Promise<T> {
    if (this.current.getStore() !== undefined) return work();
    return this.source.transaction((manager) => this.current.run(manager, work));
  }
}
