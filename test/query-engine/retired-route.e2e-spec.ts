import { execFile } from 'node:child_process';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { routeVerdict } from '../../src/commands/verify-retired-route.js';
import { FakeTrino } from '../support/fakes/fake-trino.js';
import { ApiClient, signedUp } from '../support/service/api-client.js';
import { sharedService } from '../support/service/service.js';

describe('the retired route', () => {
  const service = sharedService();
  let servers: Server[] = [];

  afterEach(async () => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    }
    servers = [];
  });

  async function serving(listener: RequestListener): Promise<string> {
    const server = createServer(listener);
    servers.push(server);
    await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  it('is no road to an engine, and queries have none here: nobody is told to try again', async () => {
    const anonymous = new ApiClient(service.url);
    const person = anonymous.as((await signedUp(anonymous, 'without_engine')).access_token);
    const answer = await person.post('/api/queries', { sql: 'SELECT 1' });
    expect(answer).toMatchObject({ status: 503, body: { code: 'engine_unavailable' } });
    expect(answer.body?.['detail']).toMatch(/^No engine is configured/);
    expect(answer.headers.get('retry-after')).toBeNull();
  });

  it.each([
    ['POST', '/v1/statement'],
    ['GET', '/v1/statement'],
    ['DELETE', '/v1/statement/executing/20261120_1/y1/1'],
    ['PUT', '/v1/statement/'],
    ['PATCH', '/v1/statement/queued/q/y/0?maxWait=1s'],
    ['OPTIONS', '/v1/statement'],
  ])('%s %s is 405 for every client, and no method is allowed', async (method, path) => {
    const headers = { 'Content-Type': 'text/plain', 'X-Trino-User': 'root', Authorization: 'Bearer x' };
    const body = method === 'GET' ? null : 'SELECT 1';
    const answer = await fetch(service.url + path, { method, headers, body });

    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe('');
    expect(await answer.json()).toMatchObject({ code: 'method_not_allowed' });
  });

  it('is a path of its own: what only looks like it is not found', async () => {
    expect((await fetch(`${service.url}/v1/statements`)).status).toBe(404);
  });

  it('is seen to be retired where this service answers in its place', async () => {
    expect(await routeVerdict(service.url)).toMatchObject({ verdict: 'retired' });
  });

  it('is seen to be reachable where the engine answers, whichever headers it reads', async () => {
    const engine = new FakeTrino();
    const url = await engine.listen();
    expect(await routeVerdict(url)).toMatchObject({ verdict: 'reachable' });
    expect(engine.requests.filter(({ method }) => method === 'GET').map(({ path }) => path)).toEqual(['/v1/info']);
    engine.mode = { kind: 'verified', refusalOf: () => 'Unauthorized' };

    expect(await routeVerdict(url)).toMatchObject({ verdict: 'reachable' });
    await engine.close();
  });

  it('follows no redirect, and sends no credentials', async () => {
    const asked: string[] = [];
    const url = await serving((request, response) => {
      asked.push(`${request.method ?? ''} ${request.url ?? ''} ${request.headers.authorization ?? 'anonymous'}`);
      response.writeHead(302, { Location: '/v1/info?followed', Server: 'edge' }).end();
    });
    const verdict = await routeVerdict(url);

    expect(verdict?.verdict).toBe('retired');
    expect(verdict?.lines[0]).toContain('302, nothing of an engine, from edge, redirected to /v1/info?followed');
    expect(asked.sort()).toEqual(['GET /v1/info anonymous', ...Array<string>(3).fill('POST /v1/statement anonymous')]);
  });

  it('proves nothing by a connection that breaks', async () => {
    const url = await serving((request) => request.socket.destroy());

    expect(await routeVerdict(url)).toMatchObject({ verdict: 'unknown' });
  });

  it('looks at the beginning of an answer without end, and no further', async () => {
    const without = await serving((_, response) => void response.end('x'.repeat(4 * 1024 * 1024)));
    const withSign = await serving((_, response) => {
      response.write('{"id":"q","nextUri":"http://trino/v1/statement/queued/q/y/1","padding":"');
      response.end('x'.repeat(4 * 1024 * 1024));
    });

    expect(await routeVerdict(without)).toMatchObject({ verdict: 'retired' });
    expect(await routeVerdict(withSign)).toMatchObject({ verdict: 'reachable' });
  });

  it('proves nothing where no server listens', async () => {
    expect(await routeVerdict('http://127.0.0.1:1')).toMatchObject({ verdict: 'unknown' });
    expect(await routeVerdict('no address')).toBeNull();
  });

  it.each([
    ['retired', 0],
    ['reachable', 1],
    ['unknown', 2],
    ['wrong', 2],
  ])('the command exits for %s with %i', async (what, code) => {
    const engine = new FakeTrino();
    const reachable = await engine.listen();
    const urls: Record<string, string> = { retired: service.url, reachable, unknown: 'http://127.0.0.1:1', wrong: 'x' };
    const exit = await new Promise<{ code: unknown; stdout: string }>((resolve) => {
      execFile('node', ['dist/main.js', 'verify-retired-route', urls[what] ?? '', '--json'], (error, stdout) => {
        resolve({ code: error?.code ?? 0, stdout });
      });
    });
    await engine.close();

    expect(exit.code).toBe(code);
    if (what !== 'wrong') expect(JSON.parse(exit.stdout)).toMatchObject({ verdict: what });
  });
});
