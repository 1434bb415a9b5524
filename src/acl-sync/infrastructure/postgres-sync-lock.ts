import { Injectable } from '@nestjs/common';
import { type Client, DatabaseError, type QueryConfig } from 'pg';
import type { Secret } from '../../kernel/secret.js';
import { LOCK_NOT_AVAILABLE } from '../../platform/database/database-session.js';
import { PooledClient, postgresConnection } from '../../platform/database/database.js';
import { type Lease, LeaseLost, SyncLock } from '../domain/run-ports.js';

const LOCK_ID = 7_471_060;
/** After this time without an answer the connection counts as lost. Without this limit a loss could go unnoticed for hours. */
const QUERY_TIMEOUT_MS = 5_000;
/**
 * Disables timeouts, because a run holds the lock for minutes. The transaction reads and writes nothing, so it does not hold back vacuum.
 * With keepalives, the lock of a host without power is free after half a minute instead of the two hours of most systems.
 */
const BEGIN_SQL = `BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL statement_timeout = 0;
  SET LOCAL tcp_keepalives_idle = 10; SET LOCAL tcp_keepalives_interval = 5; SET LOCAL tcp_keepalives_count = 4`;

/**
 * An advisory lock of a transaction, with a connection for each lock. PostgreSQL releases the lock when the connection ends, also if the process
 * was killed. A session lock would fail behind a pooler in transaction mode, which gives each transaction another session of the server.
 */
@Injectable()
export class PostgresSyncLock extends SyncLock {
  constructor(
    private readonly databaseUrl: Secret,
    private readonly queryTimeoutMs = QUERY_TIMEOUT_MS,
  ) {
    super();
  }

  override async whileHeld<T>(
    lockTimeoutMs: number,
    work: (lease: Lease) => Promise<T>,
  ): Promise<{ kind: 'held'; result: T } | { kind: 'busy' }> {
    const client = new PooledClient({
      ...postgresConnection(this.databaseUrl.reveal()),
      application_name: 'grantline acl-sync',
      connectionTimeoutMillis: 5_000,
      query_timeout: this.queryTimeoutMs,
      keepAlive: true,
    });
    await client.connect();
    try {
      await client.query(BEGIN_SQL);
      if (!(await this.tryAcquire(client, lockTimeoutMs))) return { kind: 'busy' };
      return { kind: 'held', result: await work({ confirm: () => confirm(client) }) };
    } finally {
      await client.query('ROLLBACK').catch(() => undefined);
      await client.end().catch(() => undefined);
    }
  }

  private async tryAcquire(client: Client, lockTimeoutMs: number): Promise<boolean> {
    if (lockTimeoutMs === 0) {
      const { rows } = await client.query<{ held: boolean }>('SELECT pg_try_advisory_xact_lock($1) AS held', [LOCK_ID]);
      return rows[0]?.held === true;
    }
    try {
      await client.query(`SELECT set_config('lock_timeout', $1, true)`, [`${lockTimeoutMs}ms`]);
      const query_timeout = lockTimeoutMs + this.queryTimeoutMs;
      const lockQuery: Query = { text: 'SELECT pg_advisory_xact_lock($1)', values: [LOCK_ID], query_timeout };
      await client.query(lockQuery);
      return true;
    } catch (error) {
      if (error instanceof DatabaseError && error.code === LOCK_NOT_AVAILABLE) return false;
      throw error;
    }
  }
}

/** Checks the connection by a query, because a dead connection can go unnoticed for minutes. */
async function confirm(client: Client): Promise<void> {
  await client.query('SELECT 1').catch(() => {
    throw new LeaseLost();
  });
}

type Query = QueryConfig & { query_timeout: number };
