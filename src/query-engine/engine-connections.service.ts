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

interface OneStatement extends ExecuteOptions {
  parameters?: readonly Parameter[];
  /** Changes to the session, whose user is the service itself by default. */
  session?: Partial<EngineSession>;
  /** The most rows to read; the statement is cancelled after them. */
  most?: number;
}

/** Runs statements on the configured engine, each on its own connection. */
@Injectable()
export class EngineConnections implements BeforeApplicationShutdown {
  private readonly open = new Set<Connection>();

  constructor(
    private readonly client: TrinoStatementClient,
    private readonly timers: Timers,
    private readonly settings: Settings,
  ) {}

  /** Ends the statements that are still running, so that none outlives the service on the engine. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([...this.open].map((connection) => connection.close()));
  }

  /** @throws DbApiError */
  readRows(sql: string, { parameters, session = {}, most = Infinity, ...limits }: OneStatement = {}): Promise<Row[]> {
    const whole = sessionFor(session.user ?? this.settings.engine.user, session);
    const connection = new Connection(this.client, this.timers, whole, (closed) => void this.open.delete(closed));
    this.open.add(connection);
    return inSpan('engine statement', async () => {
      try {
        const cursor = connection.cursor();
        await cursor.execute(sql, parameters, limits);
        return await cursor.fetchMany(most);
      } finally {
        await connection.close();
      }
    });
  }

  /** The rows, or null with the engine's error. The error is null if the engine could not be asked. */
  async rowsOrError(sql: string, options: OneStatement): Promise<{ rows: Row[] | null; error: EngineError | null }> {
    try {
      return { rows: await this.readRows(sql, options), error: null };
    } catch (error) {
      if (!(error instanceof DbApiError)) throw error;
      return { rows: null, error: error instanceof DatabaseError ? error.engine : null };
    }
  }
}
