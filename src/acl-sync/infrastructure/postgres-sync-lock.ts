import { Injectable } from '@nestjs/common';
import { Client, DatabaseError } from 'pg';
import type { Secret } from '../../kernel/secret.js';
import { type Lease, LeaseLost, SyncLock } from '../domain/sync-lock.js';

const LOCK = 7_471_060;
/** PostgreSQL's code for a lock that did not come within `lock_timeout`. */
const LOCK_NOT_AVAILABLE = '55P03';

/**
 * A session's advisory lock, on a connection of its own: PostgreSQL lets go of it as soon as the connection ends, whatever
 * became of the process.
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
      if (!(await acquired(client, patienceMs))) return { kind: 'busy' };
      return { kind: 'held', result: await work({ confirm: () => confirm(client) }) };
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

async function acquired(client: Client, patienceMs: number): Promise<boolean> {
  if (patienceMs === 0) {
    const { rows } = await client.query<{ held: boolean }>('SELECT pg_try_advisory_lock($1) AS held', [LOCK]);
    return rows[0]?.held === true;
  }
  try {
    await client.query(`SELECT set_config('lock_timeout', $1, false)`, [`${patienceMs}ms`]);
    await client.query('SELECT pg_advisory_lock($1)', [LOCK]);
    return true;
  } catch (error) {
    if (error instanceof DatabaseError && error.code === LOCK_NOT_AVAILABLE) return false;
    throw error;
  }
}

/** Asks the server itself: a connection can be dead for minutes before anybody tells us. */
async function confirm(client: Client): Promise<void> {
  const query = { text: 'SELECT 1', query_timeout: 5_000 };
  await client.query(query).catch(() => {
    throw new LeaseLost();
  });
}
