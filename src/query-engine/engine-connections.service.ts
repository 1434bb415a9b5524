import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { Timers } from '../kernel/clock.js';
import { Settings } from '../platform/settings/settings.js';
import { traced } from '../platform/operations/tracing.js';
import { Connection, type ExecuteOptions } from './connection.js';
import { DatabaseError, DbApiError } from './domain/db-api-errors.js';
import type { EngineError } from './domain/engine-error.js';
import { type EngineSession, sessionFor } from './domain/engine-session.js';
import type { Parameter } from './domain/sql-literal.js';
import { TrinoStatementClient } from './trino-statement-client.js';
import type { Row } from './running-statement.js';

interface OneStatement extends ExecuteOptions {
  parameters?: readonly Parameter[];
  /** The user is the service itself by default. */
  session?: Partial<EngineSession>;
  /** Rows that are wanted; the statement is cancelled behind them. */
  most?: number;
}

/** Statements on the configured engine, each on a connection of its own. */
@Injectable()
export class EngineConnections implements BeforeApplicationShutdown {
  private readonly open = new Set<Connection>();

  constructor(
    private readonly client: TrinoStatementClient,
    private readonly timers: Timers,
    private readonly settings: Settings,
  ) {}

  /** No statement of the service's own outlives it on the engine. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([...this.open].map((connection) => connection.close()));
  }

  /** @throws DbApiError */
  rowsOf(sql: string, { parameters, session = {}, most = Infinity, ...limits }: OneStatement = {}): Promise<Row[]> {
    const whole = sessionFor(session.user ?? this.settings.engine.user, session);
    const connection = new Connection(this.client, this.timers, whole, (closed) => void this.open.delete(closed));
    this.open.add(connection);
    return traced('engine statement', async () => {
      try {
        const cursor = connection.cursor();
        await cursor.execute(sql, parameters, limits);
        return await cursor.fetchMany(most);
      } finally {
        await connection.close();
      }
    });
  }

  /** The rows, or null and why there are none: the engine's error, or null where it could not be asked. */
  async answerTo(sql: string, options: OneStatement): Promise<{ rows: Row[] | null; error: EngineError | null }> {
    try {
      return { rows: await this.rowsOf(sql, options), error: null };
    } catch (error) {
      if (!(error instanceof DbApiError)) throw error;
      return { rows: null, error: error instanceof DatabaseError ? error.engine : null };
    }
  }
}
