import { Injectable } from '@nestjs/common';
import { Client, DatabaseError, type QueryConfig } from 'pg';
import type { Secret } from '../../kernel/secret.js';
import { type Lease, LeaseLost, SyncLock } from '../domain/sync-lock.js';

const LOCK = 7_471_060;
/** PostgreSQL's code for a lock that did not come within `lock_timeout`. */
const LOCK_NOT_AVAILABLE = '55P03';
/** A run computes for minutes, and waits for up to one. The transaction reads and writes nothing: no vacuum waits for it. */
const BEGIN = 'BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL statement_timeout = 0';

/**
 * A transaction's advisory lock, on a connection of its own: PostgreSQL lets go of it as soon as the connection ends, whatever
 * became of the process. A session's would not hold behind a pooler in transaction mode, which changes sessions between statements.
 */
@Injectable()
export class PostgresSyncLock extends SyncLock {
  constructor(private readonly databaseUrl: Secret) {
    super();
  }

  override async whileHeld<T>(
    patienceMs: number,
    work: (lease: Lease) => Promise<T>,
  ): Promise<{ kind: 'held'; result: T } | { kind: 'busy' }> {
    const client = new Client({
      connectionString: this.databaseUrl.reveal(),
      application_name: 'grantline acl-sync',
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
    });
    // A connection that is lost while nobody asks it anything says so here; `confirm` notices by itself.
    client.on('error', () => undefined);
    await client.connect();
    try {
      await client.query(BEGIN);
      if (!(await acquired(client, patienceMs))) return { kind: 'busy' };
      return { kind: 'held', result: await work({ confirm: () => confirm(client) }) };
    } finally {
      await client.query(briefly('ROLLBACK')).catch(() => undefined);
      await client.end().catch(() => undefined);
    }
  }
}

async function acquired(client: Client, patienceMs: number): Promise<boolean> {
  if (patienceMs === 0) {
    const { rows } = await client.query<{ held: boolean }>('SELECT pg_try_advisory_xact_lock($1) AS held', [LOCK]);
    return rows[0]?.held === true;
  }
  try {
    await client.query(`SELECT set_config('lock_timeout', $1, true)`, [`${patienceMs}ms`]);
    await client.query('SELECT pg_advisory_xact_lock($1)', [LOCK]);
    return true;
  } catch (error) {
    if (error instanceof DatabaseError && error.code === LOCK_NOT_AVAILABLE) return false;
    throw error;
  }
}

/** Asks the server itself: a connection can be dead for minutes before anybody tells us. */
async function confirm(client: Client): Promise<void> {
  await client.query(briefly('SELECT 1')).catch(() => {
    throw new LeaseLost();
  });
}

function briefly(text: string): QueryConfig & { query_timeout: number } {
  return { text, query_timeout: 5_000 };
}
