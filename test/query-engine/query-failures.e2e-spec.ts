import type { ApiClient } from '../support/service/api-client.js';
import { failed, type FakeTrino } from '../support/fakes/fake-trino.js';
import type { TestService } from '../support/service/service.js';
import { until } from '../support/service/until.js';
import { ended, NUMBERS, QueriesUnderTest, submitted } from './queries-under-test.js';

describe('a query that fails', () => {
  let queries: QueriesUnderTest;
  let engine: FakeTrino;
  let service: TestService;
  let ana: ApiClient;

  beforeAll(async () => {
    queries = await QueriesUnderTest.start();
    ({ engine, service, ana } = queries);
  });
  afterAll(() => queries.stop());
  beforeEach(() => {
    Object.assign(engine, { instead: [], mayImpersonate: () => true });
  });

  it('is refused by the engine where the user may not be impersonated', async () => {
    engine.mayImpersonate = (_, user) => user !== 'ana';

    expect(await ended(ana, await submitted(ana, { sql: 'SELECT 1' }))).toMatchObject({
      state: 'failed',
      error: { engine_error_name: 'PERMISSION_DENIED' },
    });
  });

  it.each([
    ['POST', '/api/queries', '{"sql":"SELECT 1"}'],
    ['GET', '/api/catalog', null],
  ])('is no failure of the service if its client leaves first: %s %s', async (method, path, body) => {
    const [requestCount, lineCount] = [engine.requests.length, service.logLines.length];
    engine.instead = [{ method: 'POST', after: new Promise(() => undefined) }];
    const client = new AbortController();
    const headers = { Authorization: `Bearer ${ana.token}`, 'Content-Type': 'application/json' };
    const asked = fetch(service.url + path, { method, headers, body, signal: client.signal });
    await until(() => engine.requests.length > requestCount);
    client.abort();
    await expect(asked).rejects.toThrow();
    const logged = (): string => service.logLines.slice(lineCount).join('');
    await until(() => logged().includes(`"route":"${path}"`));
    await ana.get('/api/auth/me');

    expect(logged()).not.toContain('"level":"error"');
  });

  it('counts nothing that the engine did not take', async () => {
    engine.instead = Array.from({ length: 3 }, () => ({ method: 'POST', status: 500, body: 'io.trino.Stack' }));
    const before = (await ana.get('/api/queries?limit=1')).body?.['items'];
    const refused = await Promise.all([1, 2].map(() => ana.post('/api/queries', { sql: 'SELECT 1' })));

    for (const answer of refused) expect(answer).toMatchObject({ status: 503, body: { code: 'engine_unavailable' } });
    expect((await ana.get('/api/queries?limit=1')).body?.['items']).toEqual(before);
  });

  const BIGINT = '[{"name":"n","type":"bigint"}]';
  const TYPE = '{"rawType":"array","arguments":[{"kind":"TYPE","value":';
  const DEEP_TYPE = `${TYPE.repeat(20_000)}{"rawType":"bigint"}${'}]}'.repeat(20_000)}`;
  const DEEP_VALUE = '['.repeat(200_000) + ']'.repeat(200_000);
  it.each([
    ['with a value of lists in lists', `{"id":"@","stats":{},"columns":${BIGINT},"data":[[${DEEP_VALUE}]]}`],
    [
      'with a type of lists in lists',
      `{"id":"@","stats":{},"columns":[{"name":"n","type":"array","typeSignature":${DEEP_TYPE}}],"data":[[[]]]}`,
    ],
    ['of another query', `{"id":"of_another_person","stats":{},"columns":${BIGINT},"data":[[42]]}`],
    ['that leads to another query', '{"id":"@","stats":{},"nextUri":"/v1/statement/executing/of_another_person/y1/1"}'],
    ['with an id of a megabyte', `{"id":"${'i'.repeat(1e6)}","stats":{}}`],
    ['with a count beyond 63 bits', '{"id":"@","stats":{},"updateType":"INSERT","updateCount":9223372036854775808}'],
    ['with a count of a megabyte', `{"id":"@","stats":{},"updateType":"INSERT","updateCount":${'9'.repeat(1e6)}}`],
  ])('by a page that no engine gives, and hands nothing of it out: %s', async (name, page) => {
    engine.scripts.set(`SELECT '${name}'`, () => [{ raw: page.replace('@', engine.nextId) }]);
    const path = await submitted(ana, { sql: `SELECT '${name}'` });

    const query = await ended(ana, path);

    expect(query).toMatchObject({ state: 'failed' });
    expect((await ana.get(`${path}/rows`)).status).toBe(409);
  });

  it('reports user errors, and hides the internals of the engine', async () => {
    engine.answers('SELECT wrong', failed('COLUMN_NOT_FOUND', "Column 'x' cannot be resolved"));
    engine.answers('SELECT broken', failed('GENERIC_INTERNAL_ERROR', "Invalid JSON file '/etc/x'", 'INTERNAL_ERROR'));
    const wrong = await ended(ana, await submitted(ana, { sql: 'SELECT wrong' }));
    const broken = await ended(ana, await submitted(ana, { sql: 'SELECT broken' }));

    const error = {
      code: 'query_failed',
      message: "Column 'x' cannot be resolved",
      engine_error_name: 'COLUMN_NOT_FOUND',
      line: 1,
      column: 8,
    };
    expect(wrong).toMatchObject({ state: 'failed', error });
    expect(await ana.get(`/api/queries/${String(wrong['id'])}/rows`)).toMatchObject({
      status: 409,
      body: { code: 'query_failed', detail: error.message, error },
    });
    expect(JSON.stringify(broken)).not.toContain('/etc');
    expect(service.logLines.join('')).not.toMatch(/\/etc\/|io\.trino|\/v1\/statement\/|eyJ|SELECT/);
  });

  it('fails on a nextUri that leads elsewhere, and goes nowhere', async () => {
    engine.answers('SELECT astray', { columns: NUMBERS, data: [[1]], nextUri: 'http://evil.example/v1/query/all' });

    expect(await ended(ana, await submitted(ana, { sql: 'SELECT astray' }))).toMatchObject({
      state: 'failed',
      error: { code: 'engine_protocol_error' },
    });
  });

  it('stores the engine’s message, though it has characters that the database cannot store', async () => {
    const typeSignature = {
      rawType: 'row',
      arguments: [
        { kind: 'NAMED_TYPE', value: { fieldName: { name: 'a\u0000\ud800' }, typeSignature: { rawType: 'integer' } } },
      ],
    };
    const columns = [{ name: 'n\u0000', type: 'row("a\u0000" integer)', typeSignature }];
    engine.answers('SELECT nul', { columns, data: [[[1]]] });
    engine.answers('SELECT wrong', failed('INVALID_CAST_ARGUMENT', "Cannot cast 'a\u0000' to INT"));
    const path = await submitted(ana, { sql: 'SELECT nul' });

    expect((await ana.get(`${path}/rows`)).body).toMatchObject({ columns: [{ name: 'n\ufffd' }], rows: [[[1]]] });
    expect((await ana.get(path)).body).toMatchObject({ state: 'running', columns: [{ name: 'n\ufffd' }] });
    expect((await ana.delete(path)).status).toBe(204);
    expect(await ended(ana, await submitted(ana, { sql: 'SELECT wrong' }))).toMatchObject({
      error: { code: 'query_failed', message: "Cannot cast 'a\ufffd' to INT" },
    });
    engine.instead = [{ method: 'POST', body: JSON.stringify({ id: 'q\u0000', stats: { state: 'FINISHED' } }) }];
    expect(await ana.post('/api/queries', { sql: 'SELECT id' })).toMatchObject({
      status: 201,
      body: { engine_query_id: 'q\ufffd' },
    });
  });

  it('distinguishes an engine that forbids from one that is away, without an error line', async () => {
    engine.instead = [{ method: 'POST', status: 403, body: 'Authentication over HTTP is not enabled' }];

    const answer = await ana.post('/api/queries', { sql: 'SELECT 1' });
    expect(answer).toMatchObject({ status: 403, body: { code: 'engine_forbidden' } });
    const lines = service.logLines.filter(
      (line) => line.includes(String(answer.body?.['request_id'])) || line.includes('forbidden'),
    );
    expect(lines.filter((line) => line.includes('"level":"error"'))).toEqual([]);
    expect(lines.some((line) => line.includes('"kind":"forbidden"'))).toBe(true);
  });

  it('fails on a page with rows that leads to itself, and hands out no row twice', async () => {
    const stale = { id: engine.nextId, columns: NUMBERS, data: [[1]], stats: { state: 'RUNNING' } };
    engine.answers('SELECT twice', { columns: NUMBERS, data: [[1]] }, { data: [[2]] });
    const path = await submitted(ana, { sql: 'SELECT twice' });
    const first = await ana.get(`${path}/rows`);
    const statement = engine.statements.at(-1);
    const nextUri = `http://x/v1/statement/executing/${statement?.id ?? ''}/${statement?.slug(1) ?? ''}/1`;
    engine.instead = [{ method: 'GET', body: JSON.stringify({ ...stale, nextUri }) }];
    const rest = await ana.get(`${path}/rows?after=${String(first.body?.['next'])}`);

    expect(first.body).toMatchObject({ rows: [['1']] });
    expect(rest).toMatchObject({ status: 409, body: { error: { code: 'engine_protocol_error' } } });
  });
});
