import { Pool } from 'pg';
import { PooledClient, postgresConnection } from '../../src/platform/database/database.js';
import { asSuperuser, freshDatabase, type TestDatabase } from '../support/database/database.js';
import { inFastMotion } from '../support/fakes/fast-motion.js';
import { TcpProxy } from '../support/service/tcp-proxy.js';

describe('a connection to a database', () => {
  let database: TestDatabase;
  let proxy: TcpProxy;
  let client: PooledClient;
  beforeEach(async () => {
    database = await freshDatabase();
    proxy = await TcpProxy.to(database.url);
    client = new PooledClient(postgresConnection(proxy.url));
    await client.connect();
  });
  afterEach(async () => {
    await client.end().catch(() => undefined);
    proxy.resume();
    await proxy.down();
    await database.drop();
  });

  it('is given up while an answer is owed by a server that answers nobody', async () => {
    proxy.hang();

    await inFastMotion(() => expect(client.query('SELECT 1')).rejects.toThrow('Connection terminated'));
  });

  it('is kept while a statement takes its time', async () => {
    const answer = await client.query('SELECT pg_sleep(5)'); // the server is asked twice, and has its time for an answer

    expect(answer.rowCount).toBe(1);
  });

  it('is kept while a statement takes its time on a server without a connection to spare', async () => {
    const name = new URL(database.url).pathname.slice(1);
    await asSuperuser(`ALTER DATABASE ${name} CONNECTION LIMIT 0`);
    const answer = await client.query('SELECT pg_sleep(5)');

    expect(answer.rowCount).toBe(1);
  });

  it('whose statement took too long is never given to the next who asks the pool', async () => {
    const pool = new Pool({ ...postgresConnection(proxy.url), max: 1, query_timeout: 2_000, Client: PooledClient });
    const late = await pool.connect();
    const next = pool.query('SELECT 1');
    await expect(late.query('SELECT pg_sleep(60)')).rejects.toThrow('Query read timeout');
    late.release(); // without the error, as TypeORM does

    expect((await next).rowCount).toBe(1);
    await pool.end();
  });
});
