import type { Client } from 'pg';

/**
 * Processes of the server that wait for a lock in this database; also within a transaction, which sees `pg_stat_activity` as it was.
 * A lock of a row is waited for as one of a transaction, which is in no database, so what else is held tells it.
 * @param holding only those that have locked this table
 */
export async function lockWaiters(database: Client, holding: string | null = null): Promise<number[]> {
  const { rows } = await database.query<{ pid: number }>(
    `SELECT DISTINCT l.pid FROM pg_locks l JOIN pg_locks own ON own.pid = l.pid JOIN pg_database d ON d.oid = own.database
      WHERE d.datname = current_database() AND NOT l.granted
        AND ($1::text IS NULL OR EXISTS (SELECT FROM pg_locks g WHERE g.pid = l.pid AND g.granted AND g.relation = $1::regclass))`,
    [holding],
  );
  return rows.map(({ pid }) => pid);
}
