import type { ApiClient } from '../support/api-client.js';
import { failed, type FakeTrino } from '../support/fake-trino.js';
import type { TestService } from '../support/service.js';
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

  it('is refused by the engine where the person may not be impersonated', async () => {
    engine.mayImpersonate = (_, user) => user !== 'ana';

    expect(await ended(ana, await submitted(ana, { sql: 'SELECT 1' }))).toMatchObject({
      state: 'failed',
      error: { engine_error_name: 'PERMISSION_DENIED' },
    });
  });

  it('counts nothing that the engine did not take', async () => {
    engine.instead = Array.from({ length: 3 }, () => ({ method: 'POST', status: 500, body: 'io.trino.Stack' }));
    const before = (await ana.get('/api/queries?limit=1')).body?.['items'];
    const refused = await Promise.all([1, 2].map(() => ana.post('/api/queries', { sql: 'SELECT 1' })));

    for (const answer of refused) expect(answer).toMatchObject({ status: 503, body: { code: 'engine_unavailable' } });
    expect((await ana.get('/api/queries?limit=1')).body?.['items']).toEqual(before);
  });

  it('says what the person did wrong, and keeps the inside of the engine to itself', async () => {
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
});
