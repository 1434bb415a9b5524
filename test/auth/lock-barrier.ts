import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { inSlowMotion } from '../support/fakes/fast-motion.js';
import type { TestService } from '../support/service/service.js';

/**
 * Takes a lock, starts the requests, and releases it once `waiting` of them are blocked by it in the database: they then race
 * at the very statement that has to decide between them. The service needs as many connections.
 */
export function throughLockBarrier<T>(...race: Parameters<typeof held<T>>): Promise<T[]> {
  return inSlowMotion(() => held(...race));
}

async function held<T>(service: TestService, lock: string, waiting: number, start: () => Promise<T>[]): Promise<T[]> {
  const source = service.app.get(DataSource);
  // The owner can lock tables into which the service's role can only insert.
  const holder = new Client(service.database.migrationUrl);
  await holder.connect();
  await holder.query('BEGIN');
  await holder.query(lock);
  const answers = start();
  for (let blocked = 0; blocked < waiting;) {
    await source.query('SELECT pg_sleep(0.02)'); // leaves the processor to the requests
    const [{ count }] = await source.query<[{ count: number }]>(
      `SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    blocked = count;
  }
  await holder.query('COMMIT');
  await holder.end();
  return Promise.all(answers);
}
