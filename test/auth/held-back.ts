import { Client } from 'pg';
import { DataSource } from 'typeorm';
import type { TestService } from '../support/service.js';

/**
 * Takes a lock, starts the requests, and lets go once so many of them wait for it in the database: then they meet at the
 * very statement that is to decide between them. The service needs as many connections.
 */
export async function heldBack<T>(
  service: TestService,
  lock: string,
  waiting: number,
  start: () => Promise<T>[],
): Promise<T[]> {
  const source = service.app.get(DataSource);
  // The owner may lock what the service's role may only insert into.
  const rival = new Client(service.database.migrationUrl);
  await rival.connect();
  await rival.query('BEGIN');
  await rival.query(lock);
  const answers = start();
  for (let blocked = 0; blocked < waiting;) {
    await source.query('SELECT pg_sleep(0.02)'); // leaves the processor to the requests that it looks for
    const [{ count }] = await source.query<[{ count: number }]>(
      `SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    blocked = count;
  }
  await rival.query('COMMIT');
  await rival.end();
  return Promise.all(answers);
}
