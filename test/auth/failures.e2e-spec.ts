import { Client } from 'pg';
import { freshDatabase } from '../support/database/database.js';
import { GrantlineProcess } from '../support/service/grantline-process.js';
import { ownPostgres } from '../support/database/own-postgres.js';
import { TEST_SECRET } from '../support/service/secrets.js';
import { startService } from '../support/service/service.js';
import { until } from '../support/service/until.js';
import { ApiClient, passwordOf, signedUp, signIn } from '../support/service/api-client.js';

describe('when something fails', () => {
  const closing: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  it('the database goes away: 503, and the service recovers by itself when it is back', async () => {
    const postgres = await ownPostgres();
    closing.push(() => postgres.drop());
    const service = await startService({}, { database: postgres });
    closing.push(() => service.stop());
    const anonymous = new ApiClient(service.url);
    const ana = await signedUp(anonymous, 'ana');
    const attempts = () =>
      Promise.all([
        anonymous.as(ana.access_token).get('/api/auth/me'),
        anonymous.post('/api/auth/login', { username: 'ana', password: passwordOf('ana') }),
        anonymous.post('/api/auth/refresh', { refresh_token: ana.refresh_token }),
      ]);

    await postgres.crash();
    for (const answer of await attempts()) {
      expect([answer.status, answer.body?.['code']]).toEqual([503, 'database_unavailable']);
      expect(answer.headers.get('retry-after')).toBe('5');
    }

    postgres.startAgain();
    await until(async () => (await anonymous.as(ana.access_token).get('/api/auth/me')).status !== 503);
    expect((await attempts()).map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  it('the process is killed in the middle of a rotation: one live token at most, and the user can sign in', async () => {
    const database = await freshDatabase();
    closing.push(() => database.drop());
    const start = () =>
      new GrantlineProcess(['serve'], {
        AUTH_SECRET_KEY: TEST_SECRET,
        AUTH_BCRYPT_COST: '4',
        ACL_SYNC_ENABLED: 'false',
        PORT: '0',
        OPERATIONS_PORT: '0',
        DATABASE_URL: database.url,
        DATABASE_MIGRATION_URL: database.migrationUrl,
      });
    const other = new Client(database.url);
    await other.connect();
    closing.push(() => other.end());
    const count = async (sql: string): Promise<number> =>
      Number((await other.query<[number]>({ text: sql, rowMode: 'array' })).rows[0]?.[0]);

    const killed = start();
    const before = new ApiClient(await killed.url());
    const { refresh_token } = await signedUp(before, 'ana');
    await other.query('BEGIN');
    await other.query('SELECT FROM refresh_tokens FOR UPDATE');
    const cut = before.post('/api/auth/refresh', { refresh_token }).catch(() => 'cut off');
    const monitor = new Client(database.url);
    await monitor.connect();
    closing.push(() => monitor.end());
    const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    await until(async () => (await monitor.query(waiting)).rowCount !== 0);
    killed.signal('SIGKILL');
    expect(await cut).toBe('cut off');
    await other.query('COMMIT');

    const next = start();
    closing.push(() => {
      next.signal('SIGTERM');
      return next.finished;
    });
    const after = new ApiClient(await next.url());
    const again = await after.post('/api/auth/refresh', { refresh_token });
    expect([200, 401]).toContain(again.status);
    expect((await signIn(after, 'ana')).access_token).not.toBe('');
    expect(
      await count(
        `SELECT max(live) FROM (SELECT count(*) FILTER (WHERE used_at IS NULL) AS live FROM refresh_tokens GROUP BY session_id) AS families`,
      ),
    ).toBe(1);
  });
});
