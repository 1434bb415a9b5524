import { Client } from 'pg';
import { type Answer, ApiClient, signedUp } from '../support/service/api-client.js';
import { FakeTimers } from '../support/fakes/fake-timers.js';
import { lockWaiters } from '../support/database/lock-waiters.js';
import { RawConnection, statusesIn } from '../support/service/raw-connection.js';
import { startService, type TestService } from '../support/service/service.js';
import { until } from '../support/service/until.js';

/** Half a second passes from each look at the time to the next, and between them none. */
class PassingTimers extends FakeTimers {
  override now(): number {
    this.advance(500);
    return super.now();
  }
}

const EXPLAIN = '/api/access/explain?catalog=sales&privilege=SELECT';

describe('what a person’s requests take of a replica', () => {
  let service: TestService;
  let ana: ApiClient;
  let ben: ApiClient;
  const work = new PassingTimers();
  beforeAll(async () => {
    service = await startService({}, { work });
    const anonymous = new ApiClient(service.url);
    ana = anonymous.as((await signedUp(anonymous, 'ana')).access_token);
    ben = anonymous.as((await signedUp(anonymous, 'ben')).access_token);
  });
  afterAll(() => service.stop());
  beforeEach(() => work.advance(60_000));

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
    work.advance(60_000);
    expect((await ben.post('/api/queries', { sql: 1 })).status).toBe(400);
  });

  it('is the reading of bodies also where nothing is wrong with them', async () => {
    const large = { sql: `SELECT 1${'\n'.repeat(500_000)}` };
    const sent = (): Promise<Answer[]> =>
      Promise.all(Array.from({ length: 16 }, () => ana.post('/api/queries', large)));
    await until(async () => (await sent()).some(({ status }) => status === 429));

    expect((await ana.get('/api/auth/me')).status).toBe(200);
  });
});

describe('requests whose clients have gone', () => {
  let service: TestService;
  let direct: Client;
  beforeAll(async () => {
    service = await startService();
    direct = new Client(service.database.migrationUrl);
    await direct.connect();
  });
  afterAll(async () => {
    await direct.end();
    await service.stop();
  });

  /** Four questions that wait for that table, and are given up. */
  async function givenUp(token: string, table: string): Promise<void> {
    const records = service.logLines.length;
    await direct.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
    const connections = await Promise.all(Array.from({ length: 4 }, () => RawConnection.open(service.url)));
    const request = `GET ${EXPLAIN} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`;
    for (const connection of connections) connection.send(request);
    await until(async () => (await lockWaiters(direct)).length === 4);
    for (const connection of connections) connection.destroy();
    const aborted = (): number =>
      service.logLines.slice(records).filter((line) => line.includes('"aborted":true')).length;
    await until(() => aborted() === 4);
  }

  it('count until the work for them is done', async () => {
    const anonymous = new ApiClient(service.url);
    const cai = anonymous.as((await signedUp(anonymous, 'cai')).access_token);
    await givenUp(cai.token, 'grants');

    expect(await cai.get(EXPLAIN)).toMatchObject({ status: 429 });
    await direct.query('COMMIT');
    await until(async () => (await cai.get(EXPLAIN)).status === 200);
  });

  it('count no longer than that, though they had gone before they were admitted', async () => {
    const anonymous = new ApiClient(service.url);
    const dia = anonymous.as((await signedUp(anonymous, 'dia')).access_token);
    await givenUp(dia.token, 'sessions');
    await direct.query('COMMIT');

    await until(async () => (await dia.get(EXPLAIN)).status === 200);
  });
});
