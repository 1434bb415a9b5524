import { Pool } from 'pg';
import { PooledClient, postgresConnection } from '../../src/platform/database/database.js';
import { freshDatabase, type TestDatabase } from '../support/database/database.js';

describe('a connection to a database', () => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await freshDatabase();
  });
  afterEach(() => database.drop());

  it('whose statement took too long is never given to the next who asks the pool', async () => {
    const pool = new Pool({ ...postgresConnection(database.url), max: 1, query_timeout: 2_000, Client: PooledClient });
    const late = await pool.connect();
    const next = pool.query('SELECT 1');
    await expect(late.query('SELECT pg_sleep(60)')).rejects.toThrow('Query read timeout');
    late.release(); // without the error, as TypeORM does

    expect((await next).rowCount).toBe(1);
    await pool.end();
  });
});
