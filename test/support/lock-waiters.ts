import type { Client } from 'pg';

/**
 * Processes of the server that wait for a lock in this database; also within a transaction, which sees `pg_stat_activity` as it was.
 * @param holding only those that have locked this table
 */
export async function lockWaiters(database: Client, holding: string | null = null): Promise<number[]> {
  const { rows } = await database.query<{ pid: number }>(
    `SELECT DISTINCT l.pid FROM pg_locks l JOIN pg_database d ON d.oid = l.database
      WHERE d.datname = current_database() AND NOT l.granted
        AND ($1::text IS NULL OR EXISTS (SELECT FROM pg_locks g WHERE g.pid = l.pid AND g.granted AND g.relation = $1::regclass))`,
    [holding],
  );
  return rows.map(({ pid }) => pid);
}
