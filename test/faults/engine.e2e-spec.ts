import { type Answer, ApiClient, signedUp } from '../support/service/api-client.js';
import { FastTimers } from '../support/fakes/fast-motion.js';
import { column, FakeTrino } from '../support/fakes/fake-trino.js';
import { startService, type TestService } from '../support/service/service.js';
import { TcpProxy } from '../support/service/tcp-proxy.js';
import { until } from '../support/service/until.js';

const COLUMNS = [column('n', 'bigint')];

describe('the engine', () => {
  let engine: FakeTrino;
  let proxy: TcpProxy;
  let service: TestService;
  let ana: ApiClient;
  beforeAll(async () => {
    engine = new FakeTrino();
    proxy = await TcpProxy.to(await engine.listen());
    const { hostname, port } = new URL(proxy.url);
    const address = { SERVICE_QUERY_HOST: hostname, SERVICE_QUERY_PORT: port };
    service = await startService(address, { timers: new FastTimers() });
    const anonymous = new ApiClient(service.url);
    ana = anonymous.as((await signedUp(anonymous, 'ana')).access_token);
    engine.answers('SELECT rows', { columns: COLUMNS, data: [[1]] }, { columns: COLUMNS, data: [[2]] });
  });
  afterAll(async () => {
    await service.stop();
    await proxy.down();
    await engine.close();
  });

  const submit = (sql: string): Promise<Answer> => ana.post('/api/queries', { sql });
  const partIs = (state: string): Promise<void> =>
    until(async () => (await service.ready()).body.parts['engine'] === state);

  /** All rows from there on, or the answer that ended the reading. */
  async function rest(path: string): Promise<unknown> {
    const rows: unknown[] = [];
    for (let next: string | null = ''; next !== null;) {
      const { status, body } = await ana.get(`${path}/rows${next === '' ? '' : `?after=${next}`}`);
      if (status !== 200) return [status, body?.['code']];
      rows.push(...(body?.['rows'] as unknown[]));
      next = body?.['next'] as string | null;
    }
    return rows.flat();
  }

  it('that is gone refuses new queries with 503, is degraded and not unready, and is found again', async () => {
    await proxy.down();
    const refused = await submit('SELECT rows');
    await partIs('degraded');
    const { status } = await service.ready();
    const { ready, degraded } = await service.scraped();
    const others = await ana.get('/api/auth/me');
    await proxy.up();

    expect([refused.status, refused.body?.['code']]).toEqual([503, 'engine_unavailable']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect([status, others.status]).toEqual([200, 200]);
    expect([ready, degraded]).toEqual([1, ['engine']]);
    const submitted = await submit('SELECT rows');
    expect(submitted.status).toBe(201);
    expect(await rest(submitted.headers.get('location') ?? '')).toEqual(['1', '2']);
    await partIs('up');
  });

  it('that is away for a moment costs a running query nothing', async () => {
    const submitted = await submit('SELECT rows');
    await proxy.down();
    const rows = rest(submitted.headers.get('location') ?? '');
    await until(async () => (await service.metrics()).includes('grantline_queries_running 1'));
    await proxy.up();

    expect(await rows).toEqual(['1', '2']);
  });

  it('that was restarted has lost its queries, says so, and takes new ones', async () => {
    engine.answers('SELECT lost', { columns: COLUMNS, data: [[1]] }, { after: new Promise(() => undefined) });
    const lost = (await submit('SELECT lost')).headers.get('location') ?? '';
    await until(async () => ((await ana.get(`${lost}/rows?limit=1`)).body?.['rows'] as unknown[]).length === 1);

    await proxy.down();
    engine.statements.length = 0;
    await proxy.up();

    expect(await rest(lost)).toEqual([409, 'query_failed']);
    expect((await ana.get(lost)).body).toMatchObject({ state: 'failed', error: { code: 'query_lost' } });
    const submitted = await submit('SELECT rows');
    expect(await rest(submitted.headers.get('location') ?? '')).toEqual(['1', '2']);
  });
});
