import { Client } from 'pg';

/**
 * A race with a known outcome: a rival's transaction does something and stays open; what it returns is then begun, and once that
 * waits for the rival (or is over, because it did not), the rival commits.
 */
export async function whileAnother<T>(
  databaseUrl: string,
  rivalWork: (rival: Client) => Promise<() => Promise<T>>,
): Promise<T> {
  const rival = new Client(databaseUrl);
  await rival.connect();
  try {
    await rival.query('BEGIN');
    const begin = await rivalWork(rival);
    const begun = begin();
    const over = begun.then(
      () => true,
      () => true,
    );
    while (!(await Promise.race([somebodyWaitsFor(rival), over])));
    await rival.query('COMMIT');
    return await begun;
  } finally {
    await rival.end();
  }
}

/** One look, which leaves the processor to the request that it looks for. */
async function somebodyWaitsFor(rival: Client): Promise<boolean> {
  await rival.query('SELECT pg_sleep(0.02)');
  const waiting = 'SELECT 1 FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))';
  return (await rival.query(waiting)).rowCount !== 0;
}
