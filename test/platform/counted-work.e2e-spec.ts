import { Client } from 'pg';
import { type Answer, ApiClient, signedUp } from '../support/api-client.js';
import { FastTimers } from '../support/fast-motion.js';
import { lockWaiters } from '../support/lock-waiters.js';
import { RawConnection, statusesIn } from '../support/raw-connection.js';
import { startService, type TestService } from '../support/service.js';
import { until } from '../support/until.js';

const EXPLAIN = '/api/access/explain?catalog=sales&privilege=SELECT';

describe('what a person’s requests take of a replica', () => {
  let service: TestService;
  let ana: ApiClient;
  let ben: ApiClient;
  beforeAll(async () => {
    service = await startService({}, { timers: new FastTimers() });
    const anonymous = new ApiClient(service.url);
    ana = anonymous.as((await signedUp(anonymous, 'ana')).access_token);
    ben = anonymous.as((await signedUp(anonymous, 'ben')).access_token);
  });
  afterAll(() => service.stop());

  it('is four questions about access at once, each counted before any work', async () => {
    const direct = new Client(service.database.migrationUrl);
    await direct.connect();
    await direct.query('BEGIN; LOCK TABLE grants IN ACCESS EXCLUSIVE MODE');
    const asked = Array.from({ length: 4 }, () => ana.get(EXPLAIN));
    await until(async () => (await lockWaiters(direct)).length === 4);
    const refused = await ana.get(EXPLAIN);
    const other = ben.get(EXPLAIN);
    await until(async () => (await lockWaiters(direct)).length === 5);
    await direct.query('COMMIT');
    await direct.end();

    expect(refused).toMatchObject({ status: 429, body: { code: 'too_many_requests' } });
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(refused.headers.get('ratelimit-policy')).toBe('"seconds-of-work";q=3;w=15');
    expect((await Promise.all([...asked, other])).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  });

  it('is a fifth of its time for queries that are refused, and then no body of one is read', async () => {
    const large = { sql: 'x'.repeat(1_000_000), catalog: 1 };
    const refused = (): Promise<Answer[]> =>
      Promise.all(Array.from({ length: 16 }, () => ben.post('/api/queries', large)));
    await until(async () => (await refused()).some(({ status }) => status === 429));
    const connection = await RawConnection.open(service.url);
    connection.send(
      `POST /api/queries HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ben.token}\r\n` +
        'Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n',
    );

    expect(statusesIn(await connection.closed)).toEqual([429]);
    expect((await ben.get('/api/auth/me')).status).toBe(200);
    await until(async () => (await ben.post('/api/queries', { sql: 1 })).status === 400);
  });
});
