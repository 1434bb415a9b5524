import type { Timers } from '../kernel/clock.js';
import { Cursor } from './cursor.js';
import { InterfaceError } from './domain/db-api-errors.js';
import { type EngineSession, folded, type SessionChange } from './domain/engine-session.js';
import type { StatementClient } from './domain/statement-client.js';

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
    private readonly onClosed: (connection: Connection) => void,
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
    this.onClosed(this);
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
