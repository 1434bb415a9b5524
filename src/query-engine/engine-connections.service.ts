import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { Timers } from '../kernel/clock.js';
import { Settings } from '../platform/settings/settings.js';
import { traced } from '../platform/operations/tracing.js';
import { Connection, type ExecuteOptions } from './connection.js';
import { type EngineSession, sessionFor } from './domain/engine-session.js';
import type { Parameter } from './domain/sql-literal.js';
import { TrinoStatementClient } from './trino-statement-client.js';
import type { Row } from './running-statement.js';

export type ConnectOptions = Partial<EngineSession>;

interface OneStatement extends ExecuteOptions {
  parameters?: readonly Parameter[];
  session?: ConnectOptions;
  /** Rows that are wanted; the statement is cancelled behind them. */
  most?: number;
}

/** The DB-API's `connect`: connections to the configured engine, each with its own session. */
@Injectable()
export class EngineConnections implements BeforeApplicationShutdown {
  private readonly open = new Set<Connection>();

  constructor(
    private readonly client: TrinoStatementClient,
    private readonly timers: Timers,
    private readonly settings: Settings,
  ) {}

  /** @param options the session; the user is the service itself by default. */
  connect({ user = this.settings.engine.user, ...session }: ConnectOptions = {}): Connection {
    const forget = (connection: Connection): void => void this.open.delete(connection);
    const connection = new Connection(this.client, this.timers, sessionFor(user, session), forget);
    this.open.add(connection);
    return connection;
  }

  /** No statement of the service's own outlives it on the engine. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([...this.open].map((connection) => connection.close()));
  }

  /** The rows of one statement, on a connection of its own. @throws DbApiError */
  rowsOf(sql: string, options: OneStatement = {}): Promise<Row[]> {
    return traced('engine statement', () => this.runStatement(sql, options));
  }

  private async runStatement(
    sql: string,
    { parameters, session, most = Infinity, ...limits }: OneStatement,
  ): Promise<Row[]> {
    const connection = this.connect(session);
    try {
      const cursor = connection.cursor();
      await cursor.execute(sql, parameters, limits);
      return await cursor.fetchMany(most);
    } finally {
      await connection.close();
    }
  }
}
