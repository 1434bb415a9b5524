import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { Timers } from '../kernel/clock.js';
import { Settings } from '../platform/settings/settings.js';
import { inSpan } from '../platform/operations/tracing.js';
import { Connection, type ExecuteOptions } from './connection.js';
import { DatabaseError, DbApiError } from './domain/db-api-errors.js';
import type { EngineError } from './domain/engine-error.js';
import { type EngineSession, sessionFor } from './domain/engine-session.js';
import type { Parameter } from './domain/sql-literal.js';
import { TrinoStatementClient } from './trino-statement-client.js';
import type { Row } from './running-statement.js';

interface ReadOptions extends ExecuteOptions {
  parameters?: readonly Parameter[];
  /** Session fields that differ from the default session. The user of the default session is the service account. */
  session?: Partial<EngineSession>;
  /** The most rows to read. After this number of rows the statement is cancelled. */
  maxRows?: number;
}

/** Runs statements on the configured engine, each on its own connection. */
@Injectable()
export class EngineConnections implements BeforeApplicationShutdown {
  private readonly openConnections = new Set<Connection>();

  constructor(
    private readonly client: TrinoStatementClient,
    private readonly timers: Timers,
    private readonly settings: Settings,
  ) {}

  /** Ends the statements that are still running, so that none outlives the service on the engine. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([...this.openConnections].map((connection) => connection.close()));
  }

  /** @throws DbApiError */
  readRows(sql: string, { parameters, session = {}, maxRows = Infinity, ...limits }: ReadOptions = {}): Promise<Row[]> {
    const fullSession = sessionFor(session.user ?? this.settings.engine.user, session);
    const { client, timers, openConnections } = this;
    const connection = new Connection(client, timers, fullSession, (closed) => void openConnections.delete(closed));
    openConnections.add(connection);
    return inSpan('engine statement', async () => {
      try {
        const cursor = connection.cursor();
        await cursor.execute(sql, parameters, limits);
        return await cursor.fetchMany(maxRows);
      } finally {
        await connection.close();
      }
    });
  }

  /** The rows, or else the engine's error; both are null if the engine gave no answer. */
  async rowsOrError(sql: string, options: ReadOptions): Promise<{ rows: Row[] | null; error: EngineError | null }> {
    try {
      return { rows: await this.readRows(sql, options), error: null };
    } catch (error) {
      if (!(error instanceof DbApiError)) throw error;
      return { rows: null, error: error instanceof DatabaseError ? error.engine : null };
    }
  }
}
