import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { Registry } from 'prom-client';
import { HealthRegistry } from '../../src/platform/health.js';
import { RawConnection, statusesIn } from '../support/service/raw-connection.js';
import { LogBook } from '../support/fakes/log-book.js';
import { Connections } from '../../src/platform/infrastructure/connections.js';
import { operationsServer } from '../../src/platform/infrastructure/operations-server.js';
import { until } from '../support/service/until.js';

describe('the second port', () => {
  const health = new HealthRegistry();
  const metrics = new Registry();
  const server = operationsServer(
    health,
    metrics,
    new Connections({ requestSeconds: 30, sendSeconds: 60 }, new LogBook()),
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

  it('makes one answer for the concurrent requests of a tenth of a second', async () => {
    let made = 0;
    let open = (): void => undefined;
    const opened = new Promise<void>((resolve) => (open = resolve));
    health.register('part', async () => {
      made += 1;
      await opened;
      return 'up';
    });
    const connection = await RawConnection.open(url);
    const start = performance.now();
    connection.send('GET /health/ready HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(16));
    await until(() => made > 0);
    open();

    await connection.reads(/(HTTP\/1\.1 200[^]*){16}\}$/);
    expect(made).toBeLessThanOrEqual(1 + (performance.now() - start) / 100);
    connection.destroy();
  });

  it('makes ten answers a second at most, however many ask', async () => {
    let made = 0;
    health.register('part', () => {
      made += 1;
      return Promise.resolve('up');
    });
    const start = performance.now();
    const client = async (): Promise<void> => {
      for (let asked = 0; asked < 4; asked += 1) expect((await fetch(`${url}/health/ready`)).status).toBe(200);
    };
    await Promise.all(Array.from({ length: 8 }, client));

    expect(made).toBeLessThanOrEqual(1 + (performance.now() - start) / 100);
  });

  it('sends one answer in each turn of the event loop, also where many have waited', async () => {
    let order = '';
    const answered = (_: unknown, response: ServerResponse): void => void response.once('finish', () => (order += 'a'));
    server.server.on('request', answered);
    const connections = await Promise.all(Array.from({ length: 5 }, () => RawConnection.open(url)));
    for (const connection of connections) connection.send('GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(8));
    while (order.replaceAll('.', '').length < 40) {
      await new Promise((resolve) => setImmediate(resolve));
      order += '.';
    }
    server.server.off('request', answered);

    expect(order).not.toContain('aaa'); // one may be sent where the loop's turn ends, and the next where it begins
    for (const connection of connections) connection.destroy();
  });

  it('answers more requests than a scraper sends at once, all in their order', async () => {
    const connection = await RawConnection.open(url);
    connection.send('GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(40) + 'GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n');

    const text = await connection.reads(/"not_found"[^}]*\}$/);
    expect(statusesIn(text)).toEqual([...Array<number>(40).fill(200), 404]);
    connection.destroy();
  });

  it('answers other paths with the same problem as the first port', async () => {
    const answer = await fetch(`${url}/api/auth/me`);

    expect(answer.status).toBe(404);
    expect(answer.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
    expect(await answer.json()).toMatchObject({ type: 'about:blank', status: 404, code: 'not_found' });
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
