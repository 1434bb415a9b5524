import { readFileSync } from 'node:fs';
import { Registry } from 'prom-client';
import { Refused } from '../../src/kernel/errors.js';
import { HealthRegistry } from '../../src/platform/operations/health.js';
import { RawConnection, statusesIn } from '../support/service/raw-connection.js';
import { LogBook } from '../support/fakes/log-book.js';
import { Connections } from '../../src/platform/http/connections.js';
import { OperationsRoutes, operationsServer } from '../../src/platform/operations/operations-server.js';
import { until } from '../support/service/until.js';

describe('the second port', () => {
  const health = new HealthRegistry();
  const metrics = new Registry();
  const routes = new OperationsRoutes();
  const refused = new Refused('busy', { retryAfter: 7, cause: 'private' });
  routes.add({ method: 'POST', url: '/of/a/module', handler: () => Promise.reject(refused) });
  const server = operationsServer(
    health,
    metrics,
    new Connections({ requestSeconds: 30, sendSeconds: 60 }, new LogBook()),
    routes,
  );
  let url: string;
  beforeAll(async () => {
    url = await server.listen({ host: '127.0.0.1', port: 0 });
  });
  afterAll(() => server.close());

  it.each<['up' | 'degraded' | 'down', number, string, string]>([
    ['up', 200, 'grantline_ready 1', 'grantline_degraded{part="part"} 0'],
    ['degraded', 200, 'grantline_ready 1', 'grantline_degraded{part="part"} 1'],
    ['down', 503, 'grantline_ready 0', 'grantline_degraded{part="part"} 1'],
  ])('is ready or not, also in the metrics: %s is %i', async (state, status, ready, degraded) => {
    health.register(
      'part',
      () => Promise.resolve(state),
      () => 12,
    );

    const answer = await fetch(`${url}/health/ready`);

    expect([answer.status, await answer.json()]).toEqual([
      status,
      { status: state, parts: { part: state }, ages: { part: 12 } },
    ]);
    expect((await fetch(`${url}/health/live`)).status).toBe(200);
    const scraped = (await (await fetch(`${url}/metrics`)).text()).split('\n');
    expect(scraped).toEqual(expect.arrayContaining([ready, degraded]));
  });

  it('says which version it is, of the service and of Node', async () => {
    const scraped = await (await fetch(`${url}/metrics`)).text();
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    expect(scraped).toContain(`grantline_build_info{version="${version}",node="${process.versions.node}"} 1\n`);
  });

  it('makes one answer for requests that wait at the same time', async () => {
    let made = 0;
    let open = (): void => undefined;
    const opened = new Promise<void>((resolve) => (open = resolve));
    health.register('part', async () => {
      made += 1;
      await opened;
      return 'up';
    });
    const connection = await RawConnection.open(url);
    connection.send(
      'GET /health/ready HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(15) + 'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n',
    );
    await until(() => made > 0);
    open();

    expect(statusesIn(await connection.closed)).toEqual(Array<number>(16).fill(200));
    expect(made).toBe(1);
  });

  it('answers other paths with the same problem as the first port', async () => {
    const answer = await fetch(`${url}/api/auth/me`);

    expect(answer.status).toBe(404);
    expect(answer.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
    expect(await answer.json()).toMatchObject({ type: 'about:blank', status: 404, code: 'not_found' });
  });

  it('serves routes of modules, whose refusals have their headers', async () => {
    const answer = await fetch(`${url}/of/a/module`, { method: 'POST' });

    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '7']);
    expect(await answer.json()).toMatchObject({ code: 'busy' });
    expect((await fetch(`${url}/of/a/module`)).headers.get('allow')).toBe('POST');
    const unread = { method: 'POST', body: '{', headers: { 'content-type': 'text/unknown' } };
    expect((await fetch(`${url}/of/a/module`, unread)).status).toBe(503); // the route did not read it
  });

  it('answers a query of more than a hundred parameters as the first port does', async () => {
    expect((await fetch(`${url}/health/live?${'a=&'.repeat(100)}`)).status).toBe(400);
  });

  it.each(['BREW', 'POST', 'PROPFIND'])('answers a wrong method with what is allowed: %s', async (method) => {
    const connection = await RawConnection.open(url);
    connection.send(`${method} /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);

    const text = await connection.closed;
    expect(statusesIn(text)).toEqual([405]);
    expect(text).toMatch(/\r\nallow: GET, HEAD\r\n/i);
  });
});
