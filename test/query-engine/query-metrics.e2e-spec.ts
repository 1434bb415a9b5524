import type { ApiClient } from '../support/service/api-client.js';
import { column, type FakeTrino } from '../support/fakes/fake-trino.js';
import { until } from '../support/service/until.js';
import { ended, NUMBERS, QueriesUnderTest, submitted } from './queries-under-test.js';

const MIB = 1_048_576;

describe('the metrics of queries', () => {
  let queries: QueriesUnderTest;
  let engine: FakeTrino;
  let ana: ApiClient;
  beforeAll(async () => {
    queries = await QueriesUnderTest.start({
      QUERY_MAX_HELD_BYTES: String(8 * MIB),
      QUERY_MAX_PAGE_BYTES: String(2 * MIB),
    });
    ({ engine, ana } = queries);
  });
  afterAll(() => queries.stop());

  /** The value of a series; 0: it is not there. */
  async function value(series: string): Promise<number> {
    const line = (await queries.service.metrics()).split('\n').find((text) => text.startsWith(`${series} `));
    return Number(line?.split(' ').at(-1) ?? 0);
  }

  it('count running ones, and the memory of their pages, until they end', async () => {
    const filler = { text: 'x', bytes: MIB };
    engine.answers(
      'SELECT wide',
      { columns: [column('v', 'varchar')], data: '[["@filler"]]', filler },
      { data: [['y']] },
    );
    const path = await submitted(ana, { sql: 'SELECT wide' });
    await until(async () => (await value('grantline_query_held_bytes')) >= MIB);

    expect(await value('grantline_queries_running')).toBe(1);
    expect(await value('grantline_query_held_limit_bytes')).toBe(8 * MIB);
    await ana.delete(path);

    expect(await value('grantline_queries_running')).toBe(0);
    // A page that was being recorded is let go by its own task.
    await until(async () => (await value('grantline_query_held_bytes')) === 0);
    expect(await value('grantline_queries_ended_total{state="cancelled",code="query_cancelled"}')).toBe(1);
    await ana.delete(path);
    expect(await value('grantline_queries_ended_total{state="cancelled",code="query_cancelled"}')).toBe(1);
  });

  it('count rows once, however often their page is asked for', async () => {
    engine.answers('SELECT n', { columns: NUMBERS, data: [[1], [2], [3]] });
    const path = await submitted(ana, { sql: 'SELECT n' });
    await ana.get(`${path}/rows?limit=2`);
    await ana.get(`${path}/rows?limit=2`);
    expect(await value('grantline_query_rows_delivered_total')).toBe(2);

    let next: unknown = '';
    while (typeof next === 'string') {
      next = (await ana.get(`${path}/rows?limit=2${next === '' ? '' : `&after=${next}`}`)).body?.['next'];
    }
    expect(await value('grantline_query_rows_delivered_total')).toBe(3);
    expect(await value('grantline_queries_ended_total{state="finished",code="none"}')).toBe(1);
  });

  it('count pages that the engine did not give, and how the query ended', async () => {
    const filler = { text: 'x', bytes: 3 * MIB };
    engine.answers('SELECT huge', { columns: [column('v', 'varchar')], data: '[["@filler"]]', filler });
    await ended(ana, await submitted(ana, { sql: 'SELECT huge' }));

    await until(async () => (await value('grantline_queries_running')) === 0);
    expect(await value('grantline_query_page_failures_total{reason="too-large"}')).toBe(1);
    expect(await value('grantline_queries_ended_total{state="failed",code="page_too_large"}')).toBe(1);
  });

  it('show the token of the service', async () => {
    expect(await value('grantline_service_token_renewals_total')).toBe(1);
    expect(await value('grantline_service_token_failures_total{reason="refused"}')).toBe(0);
    const left =
      (await value('grantline_service_token_expiry_timestamp_seconds')) * 1000 - queries.service.clock.now().getTime();
    expect(left).toBeGreaterThan(290_000);
    expect(left).toBeLessThanOrEqual(299_000);
  });
});
