import { setTimeout as pause } from 'node:timers/promises';
import { NUMBERS, QueriesUnderTest, submitted } from '../query-engine/queries-under-test.js';
import { RawConnection } from '../support/service/raw-connection.js';
import { until } from '../support/service/until.js';

describe('the metrics of requests', () => {
  let queries: QueriesUnderTest;
  let url: string;
  const begun = performance.now();
  beforeAll(async () => {
    queries = await QueriesUnderTest.start({ HTTP_REQUEST_TIMEOUT_SECONDS: '3', AUTH_THROTTLE_PER_NAME: '2' });
    url = queries.service.url;
  });
  afterAll(() => queries.stop());

  /** The series of ended requests as `METHOD route status`, with their counts. */
  async function counted(): Promise<Map<string, number>> {
    const text = await queries.service.metrics();
    const lines = text.matchAll(
      /^grantline_http_request_duration_seconds_count\{method="(.*)",route="(.*)",status="(.*)"\} (\d+)$/gm,
    );
    return new Map(
      [...lines].map(([, method, route, status, count]) => [`${method} ${route} ${status}`, Number(count)]),
    );
  }

  /** Does something, and waits until the series has risen by that many. */
  async function raises(series: string, by: number, work: () => Promise<unknown>): Promise<void> {
    const before = (await counted()).get(series) ?? 0;
    await work();
    await until(async () => ((await counted()).get(series) ?? 0) >= before + by);
    expect((await counted()).get(series)).toBe(before + by);
  }

  it('count by method, route template and status', async () => {
    await raises('GET /api/auth/me 200', 2, async () => {
      await queries.ana.get('/api/auth/me?a=1');
      await queries.bo.get('/api/auth/me');
    });
    await raises('GET /api/queries/:id 404', 2, async () => {
      await queries.ana.get('/api/queries/one');
      await queries.ana.get('/api/queries/another');
    });
  });

  it.each([
    ['an unknown path', 'GET unmatched 404', 'GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a wrong method', 'DELETE unmatched 405', 'DELETE /api/auth/me HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a method of another protocol', 'other unmatched 405', 'PROPFIND /api/auth/me HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['an unknown method', 'other unmatched 405', 'QUERY /api/auth/me HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a path that cannot be decoded', 'GET unmatched 400', 'GET /api/queries/%zz HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a tunnel', 'other unmatched 405', 'CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['no HTTP', 'other unmatched 400', 'EHLO example.org\r\n\r\n'],
    ['too large a head', 'other unmatched 431', `GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`],
    ['a request that never ends', 'other unmatched 408', 'GET / HTTP/1.1\r\nHost: x\r\n'],
  ])('count what is refused before a route handles it: %s', async (_, series, bytes) => {
    await raises(series, 1, async () => {
      const connection = (await RawConnection.open(url)).send(bytes);
      await connection.reads(/\r\n\r\n/);
      connection.destroy();
    });
  });

  it('count a stream when it ends', async () => {
    let release = (): void => undefined;
    const after = new Promise<void>((resolve) => (release = resolve));
    queries.engine.answers('SELECT slowly', { columns: NUMBERS, data: [[1]] }, { after, data: [[2]] });
    const path = await submitted(queries.ana, { sql: 'SELECT slowly' });
    const series = 'GET /api/queries/:id/rows 200';
    const before = (await counted()).get(series) ?? 0;
    const headers = { Accept: 'text/csv', Authorization: `Bearer ${queries.ana.token}` };

    const answer = await fetch(`${url}${path}/rows`, { headers });
    await pause(50);
    expect((await counted()).get(series) ?? 0).toBe(before);
    await raises(series, 1, () => {
      release();
      return answer.text();
    });
  });

  it('count an answer that is broken off, and log it', async () => {
    queries.engine.answers('SELECT left', { columns: NUMBERS, data: [[1]] }, { after: new Promise(() => undefined) });
    const path = await submitted(queries.ana, { sql: 'SELECT left' });
    const connection = await RawConnection.open(url);
    await raises('GET /api/queries/:id/rows aborted', 1, async () => {
      connection.send(
        `GET ${path}/rows HTTP/1.1\r\nHost: x\r\nAccept: text/csv\r\nAuthorization: Bearer ${queries.ana.token}\r\n\r\n`,
      );
      await connection.reads(/ 200 OK/);
      connection.destroy();
    });
    const logged = queries.service.logLines.filter((line) => line.includes('"route":"/api/queries/:id/rows"')).at(-1);
    expect(JSON.parse(logged ?? '{}')).toMatchObject({ msg: 'request', status: 200, aborted: true });
  });

  it('count what is throttled, by quota', async () => {
    const throttled = async (quota: string): Promise<string | undefined> =>
      new RegExp(`^grantline_throttled_requests_total\\{quota="${quota}"\\} (\\d+)$`, 'm').exec(
        await queries.service.metrics(),
      )?.[1];
    const login = { username: 'nobody', password: 'not the password' };
    for (let tries = 0; tries < 5; tries += 1) await queries.stranger.post('/api/auth/login', login);
    expect(await throttled('login-name')).toBe('3');
    expect(await throttled('login-address')).toBeUndefined();

    queries.engine.answers('SELECT waiting', { after: new Promise(() => undefined) });
    for (let tries = 0; tries < 3; tries += 1) await queries.bo.post('/api/queries', { sql: 'SELECT waiting' });
    expect(await throttled('running-queries')).toBe('1');
  });

  it('measure seconds', async () => {
    const took =
      /^grantline_http_request_duration_seconds_sum\{method="POST",route="\/api\/auth\/login",status="200"\} (\S+)$/m;
    const [, seconds] = took.exec(await queries.service.metrics()) ?? [];
    expect(Number(seconds)).toBeGreaterThan(0.001);
    expect(Number(seconds)).toBeLessThan((performance.now() - begun) / 1000);
  });

  it('stay few whatever is asked for', async () => {
    const series = async (): Promise<number> => (await queries.service.metrics()).split('\n').length;
    const ask = (at: number): Promise<unknown> =>
      fetch(`${url}/${at}/api?${at}`, { method: `METHOD${at}` }).catch(() => undefined);
    await ask(0);
    await fetch(`${url}/api/queries/0`);
    const before = await series();
    for (let at = 1; at <= 50; at += 1) {
      await ask(at);
      await fetch(`${url}/api/queries/${at}`, { method: 'GET' });
    }
    expect((await series()) - before).toBeLessThan(20);
  });
});
