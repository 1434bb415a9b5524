import { Client } from 'pg';
import { inSlowMotion } from '../fakes/fast-motion.js';

/**
 * A race with a known order: another transaction works and stays open; the function that it returns is then called, and once
 * that call is blocked by the transaction (or has ended, because it was not), the transaction commits.
 */
export async function duringTransaction<T>(
  databaseUrl: string,
  work: (other: Client) => Promise<() => Promise<T>>,
): Promise<T> {
  const other = new Client(databaseUrl);
  await other.connect();
  try {
    await other.query('BEGIN');
    const begin = await work(other);
    return await inSlowMotion(async () => {
      const begun = begin();
      const over = begun.then(
        () => true,
        () => true,
      );
      while (!(await Promise.race([isBlocking(other), over])));
      await other.query('COMMIT');
      return begun;
    });
  } finally {
    await other.end();
  }
}

/** Checks once, and leaves the processor to the blocked request. */
async function isBlocking(other: Client): Promise<boolean> {
  await other.query('SELECT pg_sleep(0.02)');
  const waiting = 'SELECT 1 FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))';
  return (await other.query(waiting)).rowCount !== 0;
}
