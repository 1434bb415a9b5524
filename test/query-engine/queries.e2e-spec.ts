import { ApiClient, signedUp } from '../support/api-client.js';
import { FakeKeycloak } from '../support/fake-keycloak.js';
import { column, FakeTrino, failed } from '../support/fake-trino.js';
import { startService, type TestService } from '../support/service.js';

const NUMBERS = [column('n', 'bigint')];

describe('queries', () => {
  const engine = new FakeTrino();
  const keycloak = new FakeKeycloak();
  let service: TestService;
  let stranger: ApiClient;
  let ana: ApiClient;
  let tokenOfAna: string;
  let bo: ApiClient;

  beforeAll(async () => {
    const { hostname, port } = new URL(await engine.listen());
    engine.mode = { kind: 'verified', refusalOf: (token) => (token === FakeKeycloak.token(1) ? null : 'JWT expired') };
    service = await startService({
      SERVICE_QUERY_HOST: hostname,
      SERVICE_QUERY_PORT: port,
      SERVICE_QUERY_FORWARDED_PROTO: 'https',
      SERVICE_QUERY_JWT_ENABLED: 'true',
      SERVICE_QUERY_JWT_ISSUER_URL: await keycloak.listen(),
      SERVICE_QUERY_JWT_CLIENT_ID: 'grantline',
      SERVICE_QUERY_JWT_CLIENT_SECRET: 'grantline-secret',
      QUERY_MAX_RUNNING_PER_USER: '2',
      QUERY_MAX_ROWS: '6',
    });
    stranger = new ApiClient(service.url);
    tokenOfAna = (await signedUp(stranger, 'ana')).access_token;
    ana = stranger.as(tokenOfAna);
    bo = stranger.as((await signedUp(stranger, 'Bo_2')).access_token);
  });
  afterAll(async () => {
    await service.stop();
    await engine.close();
    await keycloak.close();
  });
  beforeEach(() => {
    Object.assign(engine, { instead: [], nextOrigin: null, mayImpersonate: () => true });
  });

  /** Submits, and says where the query is. */
  async function submitted(person: ApiClient, body: Record<string, unknown>): Promise<string> {
    const answer = await person.post('/api/queries', body);
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
    return answer.headers.get('location') ?? '';
  }

  function stream(path: string, accept: string): Promise<Response> {
    return fetch(service.url + path, { headers: { Accept: accept, Authorization: `Bearer ${tokenOfAna}` } });
  }

  it('runs under the name of the person, with the service beside it, on every request', async () => {
    const first = engine.requests.length;
    const path = await submitted(bo, { sql: 'SELECT 1', catalog: 'sales', schema: 'eu' });
    await bo.get(`${path}/rows`);

    const made = engine.requests.slice(first);
    expect(made.length).toBeGreaterThan(1);
    for (const { headers } of made) {
      expect(headers).toMatchObject({
        authorization: `Bearer ${FakeKeycloak.token(1)}`,
        'x-query-user': 'Bo_2',
        'x-query-original-user': 'service-account-grantline',
        'x-query-source': 'grantline',
        'x-query-catalog': 'sales',
        'x-query-schema': 'eu',
        'x-forwarded-proto': 'https',
      });
    }
  });

  it('is handed on page by page: the newest may be asked again, older ones are gone', async () => {
    engine.answers(
      'SELECT five',
      { columns: NUMBERS, data: '[[1],[2],[9223372036854775807]]' },
      {},
      { data: [[4], [5]] },
    );
    const path = await submitted(ana, { sql: 'SELECT five' });
    const page = (after: unknown): ReturnType<ApiClient['get']> =>
      ana.get(`${path}/rows?limit=2${typeof after === 'string' ? `&after=${after}` : ''}`);

    const first = await page(null);
    const again = await page(null);
    const second = await page(first.body?.['next']);
    const third = await page(second.body?.['next']);
    const last = await page(third.body?.['next']);

    expect(first.body).toMatchObject({ columns: [{ name: 'n', type: 'bigint' }], rows: [['1'], ['2']] });
    expect(again.body).toEqual(first.body);
    expect(second.body).toMatchObject({ rows: [['9223372036854775807']] });
    expect(third.body).toMatchObject({ rows: [['4'], ['5']] });
    expect(last.body).toMatchObject({ rows: [], next: null });
    expect(await page(first.body?.['next'])).toMatchObject({ status: 410, body: { code: 'page_gone' } });
    expect((await ana.get(path)).body).toMatchObject({ state: 'finished', rows_returned: 5, progress_percent: 100 });
  });

  it('answers 400 to a place that no answer named, and to a limit beyond 10,000', async () => {
    const path = await submitted(ana, { sql: 'SELECT 1' });

    for (const wrong of ['after=x', 'after=OTk', 'limit=0', 'limit=10001', 'limit=1e3', 'before=1']) {
      expect(await ana.get(`${path}/rows?${wrong}`)).toMatchObject({
        status: 400,
        body: { code: 'validation_failed' },
      });
    }
    await ana.delete(path);
  });

  it('says what the person did wrong, and keeps the inside of the engine to itself', async () => {
    engine.answers('SELECT wrong', failed('COLUMN_NOT_FOUND', "Column 'x' cannot be resolved"));
    engine.answers('SELECT broken', failed('GENERIC_INTERNAL_ERROR', "Invalid JSON file '/etc/x'", 'INTERNAL_ERROR'));
    const wrong = await ended(await submitted(ana, { sql: 'SELECT wrong' }));
    const broken = await ended(await submitted(ana, { sql: 'SELECT broken' }));

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

  it('is refused by the engine where the person may not be impersonated', async () => {
    engine.mayImpersonate = (_, user) => user !== 'ana';

    expect(await ended(await submitted(ana, { sql: 'SELECT 1' }))).toMatchObject({
      state: 'failed',
      error: { engine_error_name: 'PERMISSION_DENIED' },
    });
  });

  it('drives a writer to its end whether anybody looks or not, and says how many rows it wrote', async () => {
    const written = { columns: [column('rows', 'bigint')], data: [[25]], updateType: 'INSERT', updateCount: 25 };
    engine.answers('INSERT', written, {}, {});
    const query = await ended(await submitted(ana, { sql: 'INSERT' }));

    expect(query).toMatchObject({ state: 'finished' });
    expect((await ana.get(`/api/queries/${String(query['id'])}/rows`)).body).toEqual({
      columns: [{ name: 'rows', type: 'bigint' }],
      rows: [['25']],
      next: null,
    });
  });

  it('holds the page that nobody has read, and asks for no more', async () => {
    engine.answers('SELECT held', { columns: NUMBERS, data: [[1]] }, { data: [[2]] });
    const path = await submitted(ana, { sql: 'SELECT held' });
    await until(async () => (await ana.get(path)).body?.['state'] === 'running');

    expect(engine.requests.filter(({ method }) => method === 'GET').at(-1)?.path).toMatch(/\/0$/);
    await ana.delete(path);
  });

  it('waits for nobody: the answer to the POST does not need the first page', async () => {
    let open: () => void = () => undefined;
    engine.answers('SELECT slow', { columns: NUMBERS, data: [[1]], after: new Promise((resolve) => (open = resolve)) });
    const path = await submitted(ana, { sql: 'SELECT slow' });
    const waiting = ana.get(`${path}/rows`);
    open();

    expect((await waiting).body).toMatchObject({ rows: [['1']] });
    await ana.delete(path);
  });

  it('is cancelled by its owner, on the engine too, once and again', async () => {
    engine.answers('SELECT long', { columns: NUMBERS, data: [[1]] }, { data: [[2]] });
    const path = await submitted(ana, { sql: 'SELECT long' });
    await ana.get(`${path}/rows`);

    expect((await ana.delete(path)).status).toBe(204);
    expect((await ana.delete(path)).status).toBe(204);
    expect(engine.statements.at(-1)?.cancelled).toBe(true);
    expect((await ana.get(path)).body).toMatchObject({ state: 'cancelled', error: { code: 'query_cancelled' } });
    expect(await ana.get(`${path}/rows`)).toMatchObject({ status: 409, body: { code: 'query_cancelled' } });
  });

  it("is nobody else's", async () => {
    const path = await submitted(ana, { sql: 'SELECT 1' });

    for (const answer of [await bo.get(path), await bo.get(`${path}/rows`), await bo.delete(path)]) {
      expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } });
    }
    expect(JSON.stringify((await bo.get('/api/queries')).body)).not.toContain(path.split('/').at(-1));
    expect((await stranger.get(path)).status).toBe(401);
    expect((await ana.get('/api/queries/1')).status).toBe(404);
    expect((await ana.get(path)).status).toBe(200);
    await ana.delete(path);
  });

  it('is listed newest first, by a cursor that survives inserts', async () => {
    for (let i = 0; i < 3; i += 1) {
      service.clock.advance(1);
      await ended(await submitted(ana, { sql: `SELECT ${i} FROM nowhere` }));
    }
    const first = await ana.get('/api/queries?limit=2');
    service.clock.advance(1);
    await ended(await submitted(ana, { sql: 'SELECT later FROM nowhere' }));
    const second = await ana.get(`/api/queries?limit=1&after=${String(first.body?.['next'])}`);

    const sqlOf = (answer: typeof first): unknown[] =>
      (answer.body?.['items'] as { sql: string }[]).map(({ sql }) => sql);
    expect([...sqlOf(first), ...sqlOf(second)]).toEqual([2, 1, 0].map((i) => `SELECT ${i} FROM nowhere`));
  });

  it('is one too many at once: 429', async () => {
    engine.answers('SELECT open', { columns: NUMBERS, data: [[1]] }, { data: [[2]] });
    const attempts = await Promise.all(
      Array.from({ length: 6 }, () => ana.post('/api/queries', { sql: 'SELECT open' })),
    );
    const taken = attempts.filter(({ status }) => status === 201);
    const refused = attempts.find(({ status }) => status === 429);

    expect(taken).toHaveLength(2);
    expect(refused).toMatchObject({ body: { code: 'too_many_queries' } });
    expect(refused?.headers.get('retry-after')).toBe('5');
    for (const { headers } of taken) await ana.delete(headers.get('location') ?? '');
    await ana.delete(await submitted(ana, { sql: 'SELECT open' }));
  });

  it('ends at QUERY_MAX_ROWS, on the engine too', async () => {
    engine.answers('SELECT many', { columns: NUMBERS, data: [[1], [2], [3], [4]] }, { data: [[5], [6], [7]] }, {});
    const path = await submitted(ana, { sql: 'SELECT many' });
    const first = await ana.get(`${path}/rows`);
    const second = await ana.get(`${path}/rows?after=${String(first.body?.['next'])}`);

    expect(second.body).toMatchObject({ rows: [['5'], ['6']], next: null });
    expect((await ana.get(path)).body).toMatchObject({ state: 'finished', truncated: true, rows_returned: 6 });
    expect(engine.statements.at(-1)?.cancelled).toBe(true);
  });

  it('takes parameters', async () => {
    engine.answers("EXECUTE IMMEDIATE 'SELECT ?' USING 'it''s'", {
      columns: [column('c', 'varchar')],
      data: [["it's"]],
    });
    const path = await submitted(ana, { sql: 'SELECT ?', parameters: ["it's"] });

    expect((await ana.get(`${path}/rows`)).body).toMatchObject({ rows: [["it's"]] });
    expect((await ana.get(path)).body).toMatchObject({ sql: 'SELECT ?' });
    await ana.delete(path);
  });

  it.each([
    [{ sql: '' }, 'sql'],
    [{ sql: ' \n' }, 'sql'],
    [{ sql: 'a\u0000b' }, 'sql'],
    [{}, 'sql'],
    [{ sql: 'SELECT 1', schema: 'eu' }, 'schema'],
    [{ sql: 'SELECT 1', catalog: 'a\nb' }, 'catalog'],
    [{ sql: 'SELECT 1', catalog: 'łódź' }, 'catalog'],
    [{ sql: 'SELECT ?', parameters: [{}] }, 'parameters'],
    [{ sql: 'SELECT ?', parameters: 1 }, 'parameters'],
    [{ sql: 'SELECT ?', parameters: [9007199254740993] }, 'parameters'],
    [{ sql: 'SELECT 1', timeout: 1 }, 'timeout'],
  ])('refuses %j', async (body, field) => {
    expect(await ana.post('/api/queries', body)).toMatchObject({
      status: 400,
      body: { code: 'validation_failed', errors: [{ field }] },
    });
  });

  it('counts nothing that the engine did not take', async () => {
    engine.instead = Array.from({ length: 3 }, () => ({ method: 'POST', status: 500, body: 'io.trino.Stack' }));
    const before = (await ana.get('/api/queries?limit=1')).body?.['items'];
    const refused = await Promise.all([1, 2].map(() => ana.post('/api/queries', { sql: 'SELECT 1' })));

    for (const answer of refused) expect(answer).toMatchObject({ status: 503, body: { code: 'engine_unavailable' } });
    expect((await ana.get('/api/queries?limit=1')).body?.['items']).toEqual(before);
  });

  it('fails on a nextUri that leads elsewhere, and goes nowhere', async () => {
    engine.answers('SELECT astray', { columns: NUMBERS, data: [[1]], nextUri: 'http://evil.example/v1/query/all' });

    expect(await ended(await submitted(ana, { sql: 'SELECT astray' }))).toMatchObject({
      state: 'failed',
      error: { code: 'engine_protocol_error' },
    });
  });

  it('streams lines of JSON, and says in the last one what went wrong midway', async () => {
    const pages = [{ columns: NUMBERS, data: '[[1],[9223372036854775807]]' }, { data: [[3]] }];
    engine.answers('SELECT lines', ...pages);
    engine.answers('SELECT torn', ...pages, failed('DIVISION_BY_ZERO', 'Division by zero'));
    const whole = await stream(`${await submitted(ana, { sql: 'SELECT lines' })}/rows`, 'application/x-ndjson');
    const torn = await stream(`${await submitted(ana, { sql: 'SELECT torn' })}/rows`, 'application/x-ndjson');

    expect(whole.headers.get('content-type')).toBe('application/x-ndjson');
    const lines = ['{"columns":[{"name":"n","type":"bigint"}]}', '["1"]', '["9223372036854775807"]', '["3"]', ''];
    expect(await whole.text()).toBe(lines.join('\n'));
    expect((await torn.text()).split('\n').at(-2)).toBe(
      '{"error":{"code":"query_failed","message":"Division by zero","engine_error_name":"DIVISION_BY_ZERO","line":1,"column":8}}',
    );
  });

  it('streams CSV, and breaks it off where it cannot end well', async () => {
    const columns = [column('a "b"', 'varchar'), column('n', 'bigint')];
    const pages = [
      {
        columns,
        data: [
          ['x,y', 1],
          ['', null],
        ],
      },
      { data: [[null, 2]] },
    ];
    engine.answers('SELECT csv', ...pages);
    engine.answers('SELECT torn', ...pages, failed('DIVISION_BY_ZERO', 'Division by zero'));
    const whole = await stream(`${await submitted(ana, { sql: 'SELECT csv' })}/rows`, 'text/csv');
    const torn = await stream(`${await submitted(ana, { sql: 'SELECT torn' })}/rows`, 'text/csv');

    expect(whole.headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present');
    expect(await whole.text()).toBe('"a ""b""",n\r\n"x,y",1\r\n"",\r\n,2\r\n');
    await expect(torn.text()).rejects.toThrow();
  });

  it('answers a stream that never began with a status', async () => {
    engine.answers('SELECT wrong', failed('SYNTAX_ERROR', 'line 1:1: no'));
    const answer = await stream(`${await submitted(ana, { sql: 'SELECT wrong' })}/rows`, 'text/csv');

    expect(answer.status).toBe(409);
    expect(answer.headers.get('content-type')).toContain('application/problem+json');
  });

  async function ended(path: string): Promise<Record<string, unknown>> {
    let query: Record<string, unknown> = {};
    await until(async () => {
      query = (await ana.get(path)).body ?? {};
      return query['finished_at'] !== null;
    });
    return query;
  }
});

/** Asks until it is so; jest's own limit ends what never comes. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setImmediate(resolve));
}
