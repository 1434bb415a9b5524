import { administrator } from '../support/service/administrator.js';
import { type ApiClient, passwordOf, signIn } from '../support/service/api-client.js';
import { FakeKeycloak } from '../support/fakes/fake-keycloak.js';
import { column, type FakeTrino } from '../support/fakes/fake-trino.js';
import type { TestService } from '../support/service/service.js';
import { ended, NUMBERS, QueriesUnderTest, submitted } from './queries-under-test.js';

describe('queries', () => {
  let queries: QueriesUnderTest;
  let engine: FakeTrino;
  let service: TestService;
  let stranger: ApiClient;
  let ana: ApiClient;
  let bo: ApiClient;

  beforeAll(async () => {
    queries = await QueriesUnderTest.start();
    ({ engine, service, stranger, ana, bo } = queries);
  });
  afterAll(() => queries.stop());

  it('runs under the name of the user, with the service as original user, on every request', async () => {
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

  it('takes parameters', async () => {
    engine.answers("EXECUTE IMMEDIATE 'SELECT ?' USING 'it''s'", {
      columns: [column('c', 'varchar')],
      data: [["it's"]],
    });
    const path = await submitted(ana, { sql: 'SELECT ?;', parameters: ["it's"] });

    expect((await ana.get(`${path}/rows`)).body).toMatchObject({ rows: [["it's"]] });
    expect((await ana.get(path)).body).toMatchObject({ sql: 'SELECT ?;' });
    await ana.delete(path);
  });

  it('takes a semicolon at the end, and no second statement', async () => {
    const path = await submitted(ana, { sql: 'SELECT 1; -- one' });
    expect((await ana.get(`${path}/rows`)).body).toMatchObject({ rows: [[1]] });
    await ana.delete(path);

    const two = await submitted(ana, { sql: 'SELECT 1; SELECT 1;' });
    expect(await ended(ana, two)).toMatchObject({ state: 'failed', error: { engine_error_name: 'SYNTAX_ERROR' } });
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
    [{ sql: 'SELECT ?', parameters: [2 ** 63] }, 'parameters'],
    [{ sql: 'SELECT 1', timeout: 1 }, 'timeout'],
  ])('refuses %j', async (body, field) => {
    expect(await ana.post('/api/queries', body)).toMatchObject({
      status: 400,
      body: { code: 'validation_failed', errors: [{ field }] },
    });
  });

  it('refuses an account whose name no header can carry, and says so', async () => {
    const admin = await administrator(service, 'namer');
    const made = await admin.post('/api/admin/users', { username: '李雷', one_time_password: true });
    const password = String(made.body?.['one_time_password']);
    const person = stranger.as((await signIn(stranger, '李雷', password)).access_token);
    await person.post('/api/auth/password', { current_password: password, new_password: passwordOf('lilei') });
    const message = 'the user is empty or has characters that no header can carry';
    expect(await person.post('/api/queries', { sql: 'SELECT 1' })).toMatchObject({
      status: 400,
      body: { code: 'validation_failed', errors: [{ field: 'user', message }] },
    });
  });

  it('does not wait for the first page to answer the POST', async () => {
    let open: () => void = () => undefined;
    engine.answers('SELECT slow', { columns: NUMBERS, data: [[1]], after: new Promise((resolve) => (open = resolve)) });
    const path = await submitted(ana, { sql: 'SELECT slow' });
    const waiting = ana.get(`${path}/rows`);
    open();

    expect((await waiting).body).toMatchObject({ rows: [['1']] });
    await ana.delete(path);
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
    expect(refused?.headers.get('ratelimit-policy')).toBe('"running-queries";q=2;qu="concurrent-requests"');
    expect(refused?.headers.get('ratelimit')).toBe('"running-queries";r=0;t=5');
    for (const { headers } of taken) await ana.delete(headers.get('location') ?? '');
    await ana.delete(await submitted(ana, { sql: 'SELECT open' }));
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

  it('belongs to its owner only', async () => {
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
      await ended(ana, await submitted(ana, { sql: `SELECT ${i} FROM nowhere` }));
    }
    const first = await ana.get('/api/queries?limit=2');
    service.clock.advance(1);
    await ended(ana, await submitted(ana, { sql: 'SELECT later FROM nowhere' }));
    const second = await ana.get(`/api/queries?limit=1&after=${String(first.body?.['next'])}`);

    const sqlOf = (answer: typeof first): unknown[] =>
      (answer.body?.['items'] as { sql: string }[]).map(({ sql }) => sql);
    expect([...sqlOf(first), ...sqlOf(second)]).toEqual([2, 1, 0].map((i) => `SELECT ${i} FROM nowhere`));
  });
});
