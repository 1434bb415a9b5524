import type { ApiClient } from '../support/service/api-client.js';
import { column, type FakeTrino } from '../support/fakes/fake-trino.js';
import { until } from '../support/service/until.js';
import { ended, NUMBERS, QueriesUnderTest, submitted } from './queries-under-test.js';

describe('a query, page by page', () => {
  let queries: QueriesUnderTest;
  let engine: FakeTrino;
  let ana: ApiClient;

  beforeAll(async () => {
    queries = await QueriesUnderTest.start();
    ({ engine, ana } = queries);
  });
  afterAll(() => queries.stop());

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

  it('is one query, whatever the case of its id', async () => {
    engine.answers('SELECT three', { columns: NUMBERS, data: [[1], [2]] }, { data: [[3]] });
    const first = engine.requests.length;
    const path = await submitted(ana, { sql: 'SELECT three' });
    const inCapitals = path.replace(/[^/]*$/, (id) => id.toUpperCase());
    const { body } = await ana.get(`${path}/rows?limit=1`);
    const rest = await ana.get(`${inCapitals}/rows?limit=9&after=${String(body?.['next'])}`);
    const last = await ana.get(`${inCapitals}/rows?limit=9&after=${String(rest.body?.['next'])}`);

    expect([rest.body, last.body]).toMatchObject([{ rows: [['2']] }, { rows: [['3']] }]);
    const paths = engine.requests.slice(first).map((request) => request.path);
    expect(paths).toEqual([...new Set(paths)]);
  });

  it('answers 400 to a place that no answer named, and to a limit beyond 10,000', async () => {
    const path = await submitted(ana, { sql: 'SELECT 1' });

    for (const wrong of [
      'after=x',
      'after=OTk',
      'after=YWZ0ZXI6OTk',
      'limit=0',
      'limit=10001',
      'limit=1e3',
      'before=1',
    ]) {
      expect(await ana.get(`${path}/rows?${wrong}`)).toMatchObject({
        status: 400,
        body: { code: 'validation_failed' },
      });
    }
    await ana.delete(path);
  });

  it.each(['application/json', 'application/x-ndjson', 'text/csv'])('is left as it is by HEAD: %s', async (Accept) => {
    engine.answers('SELECT two', { columns: NUMBERS, data: [[1]] }, { data: [[2]] });
    const path = await submitted(ana, { sql: 'SELECT two' });
    const head = await ana.send('HEAD', `${path}/rows`, undefined, { Accept });

    expect(head).toMatchObject({ status: 200, body: null });
    expect(head.headers.get('content-type')).toContain(Accept);
    expect((await ana.get(path)).body).toMatchObject({ finished_at: null, rows_returned: 0 });
    expect((await ana.get(`${path}/rows`)).body).toMatchObject({ rows: [['1']] });
    await ana.delete(path);
    expect((await ana.send('HEAD', '/api/queries/none/rows')).status).toBe(404);
  });

  it('holds an unread page, and fetches no more', async () => {
    engine.answers('SELECT held', { columns: NUMBERS, data: [[1]] }, { data: [[2]] });
    const path = await submitted(ana, { sql: 'SELECT held' });
    await until(async () => (await ana.get(path)).body?.['state'] === 'running');

    expect(engine.requests.filter(({ method }) => method === 'GET').at(-1)?.path).toMatch(/\/0$/);
    await ana.delete(path);
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

  it('runs an INSERT to its end whether it is read or not, and answers the number of rows written', async () => {
    const written = { columns: [column('rows', 'bigint')], data: [[25]], updateType: 'INSERT', updateCount: 25 };
    engine.answers('INSERT', written, {}, {});
    const query = await ended(ana, await submitted(ana, { sql: 'INSERT' }));

    expect(query).toMatchObject({ state: 'finished' });
    expect((await ana.get(`/api/queries/${String(query['id'])}/rows`)).body).toEqual({
      columns: [{ name: 'rows', type: 'bigint' }],
      rows: [['25']],
      next: null,
    });
  });

  it('hands out the rows of a statement that writes and counts nothing: EXPLAIN ANALYZE INSERT', async () => {
    const columns = [column('Query Plan', 'varchar')];
    engine.answers('EXPLAIN ANALYZE INSERT', { columns, data: [['TableCommit']], updateType: 'INSERT' }, {});
    const path = await submitted(ana, { sql: 'EXPLAIN ANALYZE INSERT' });
    const plan = await ana.get(`${path}/rows`);
    const last = await ana.get(`${path}/rows?after=${String(plan.body?.['next'])}`);

    expect(plan.body).toMatchObject({ columns: [{ name: 'Query Plan', type: 'varchar' }], rows: [['TableCommit']] });
    expect(last.body).toMatchObject({ rows: [], next: null });
    expect((await ana.get(path)).body).toMatchObject({ state: 'finished', rows_returned: 1 });
  });
});
