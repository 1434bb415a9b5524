import { Injectable } from '@nestjs/common';
import { Timers } from '../kernel/timers.js';
import { Settings } from '../platform/settings.js';
import { Cursor, type ExecuteOptions, type Row } from './cursor.js';
import { InterfaceError } from './domain/db-api-errors.js';
import { type EngineSession, folded, type SessionChange, sessionFor } from './domain/engine-session.js';
import type { Parameter } from './domain/sql-literal.js';
import { StatementClient } from './domain/statement-client.js';

/**
 * A DB-API connection (PEP 249 shape): one user, one catalog and schema, one set of session properties, roles and
 * prepared statements, which its statements change and no other connection sees. Nothing is open until a statement is.
 */
export class Connection {
  private readonly cursors = new Set<Cursor>();
  private closed = false;

  constructor(
    private readonly client: StatementClient,
    private readonly timers: Timers,
    private current: EngineSession,
  ) {}

  /** The session of the next statement. */
  get session(): EngineSession {
    return this.current;
  }

  /** @throws InterfaceError once the connection is closed. */
  cursor(): Cursor {
    if (this.closed) throw new InterfaceError('the connection is closed');
    const cursor = new Cursor(this.client, this.timers, this);
    this.cursors.add(cursor);
    return cursor;
  }

  /** Ends every statement that still runs. */
  async close(): Promise<void> {
    this.closed = true;
    await Promise.all([...this.cursors].map((cursor) => cursor.close()));
  }

  /** For its cursors: what an answer changed. */
  fold(change: SessionChange): void {
    this.current = folded(this.current, change);
  }

  /** For its cursors: one is closed. */
  forget(cursor: Cursor): void {
    this.cursors.delete(cursor);
  }
}

export type ConnectOptions = Partial<EngineSession>;

interface OneStatement extends ExecuteOptions {
  parameters?: readonly Parameter[];
  session?: ConnectOptions;
  /** Rows that are wanted; the statement is cancelled behind them. */
  most?: number;
}

/** The DB-API's `connect`: connections to the configured engine, each with its own session. */
@Injectable()
export class EngineConnections {
  constructor(
    private readonly client: StatementClient,
    private readonly timers: Timers,
    private readonly settings: Settings,
  ) {}

  /** @param options the session; the user is the service itself by default. */
  connect({ user = this.settings.engine.user, ...session }: ConnectOptions = {}): Connection {
    return new Connection(this.client, this.timers, sessionFor(user, session));
  }

  /** The rows of one statement, on a connection of its own. @throws DbApiError */
  async rowsOf(sql: string, { parameters, session, most = Infinity, ...limits }: OneStatement = {}): Promise<Row[]> {
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
