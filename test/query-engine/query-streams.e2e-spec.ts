import type { ApiClient } from '../support/service/api-client.js';
import { column, failed, type FakeTrino } from '../support/fakes/fake-trino.js';
import type { ScriptedPage } from '../support/fakes/fake-trino-statement.js';
import { until } from '../support/service/until.js';
import { ended, NUMBERS, QueriesUnderTest, submitted } from './queries-under-test.js';

describe('a query as a stream', () => {
  let queries: QueriesUnderTest;
  let engine: FakeTrino;
  let ana: ApiClient;

  beforeAll(async () => {
    queries = await QueriesUnderTest.start();
    ({ engine, ana } = queries);
  });
  afterAll(() => queries.stop());

  function stream(path: string, accept: string): Promise<Response> {
    return fetch(queries.service.url + path, { headers: { Accept: accept, Authorization: `Bearer ${ana.token}` } });
  }

  it('streams lines of JSON, with an error of the way in the last one', async () => {
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

  it.each(['application/json', 'application/x-ndjson', 'text/csv'])(
    'sends rows of long lists whole: %s',
    async (accept) => {
      const bigint = { rawType: 'bigint', arguments: [] };
      const typeSignature = { rawType: 'array', arguments: [{ kind: 'TYPE', value: bigint }] };
      const columns = [{ name: 'l', type: 'array(bigint)', typeSignature }];
      engine.answers('SELECT lists', { columns, data: `[[[${'1,'.repeat(400_000)}2]],[[3]],[null]]` }, {});
      const query = await submitted(ana, { sql: 'SELECT lists' });
      const text = await (await stream(`${query}/rows`, accept)).text();
      await ana.delete(query); // one page of JSON does not end it

      const list = `${'"1",'.repeat(400_000)}"2"`;
      const whole = {
        'application/json': `"rows":[[[${list}]],[["3"]],[null]]`,
        'application/x-ndjson': `\n[[${list}]]\n[["3"]]\n[null]\n`,
        'text/csv': `l\r\n"[${list.replaceAll('"', '""')}]"\r\n"[""3""]"\r\n\r\n`,
      }[accept];
      expect(text.includes(whole ?? 'none')).toBe(true);
    },
  );

  it('ends lines of JSON with an error where the engine sends a row with another number of values', async () => {
    engine.answers('SELECT torn', { columns: NUMBERS, data: [[1]] }, { data: [[1, 2]] }, {});
    const torn = await stream(`${await submitted(ana, { sql: 'SELECT torn' })}/rows`, 'application/x-ndjson');

    const lines = (await torn.text()).trimEnd().split('\n');
    expect(lines[1]).toBe('["1"]');
    expect(JSON.parse(lines[2] ?? '')).toMatchObject({ error: { code: 'engine_protocol_error' } });
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
});

describe('a stream whose pages are more than half of what its reader may hold', () => {
  const MIB = 1_048_576;
  const ROW = `["${'x'.repeat(1000)}"],`;
  const [PAGES, ROWS] = [6, 1_401];
  let queries: QueriesUnderTest;
  beforeAll(async () => {
    const limits = { QUERY_MAX_PAGE_BYTES: String(2 * MIB), QUERY_MAX_HELD_BYTES: String(4 * MIB) };
    queries = await QueriesUnderTest.start({ ...limits, QUERY_MAX_ROWS: '0' });
  });
  afterAll(() => queries.stop());

  it.each(['application/x-ndjson', 'text/csv'])(
    'comes whole, though the next one waits for room: %s',
    async (accept) => {
      const filler = { text: ROW, bytes: (ROWS - 1) * ROW.length };
      const page = { columns: [column('v', 'varchar')], data: '[@filler["x"]]', filler };
      queries.engine.answers('SELECT large', ...Array.from({ length: PAGES }, () => page));
      const path = await submitted(queries.ana, { sql: 'SELECT large' });
      const headers = { Accept: accept, Authorization: `Bearer ${queries.ana.token}` };
      const answer = await fetch(`${queries.service.url}${path}/rows`, { headers });

      const lines = (await answer.text()).trimEnd().split('\n');
      expect(lines.at(-1)).toMatch(/^[["]*x["\]]*\r?$/);
      expect(lines).toHaveLength(1 + PAGES * ROWS);
    },
  );

  const streamed = (path: string): Promise<Response> =>
    fetch(`${queries.service.url}${path}/rows`, {
      headers: { Accept: 'application/x-ndjson', Authorization: `Bearer ${queries.ana.token}` },
    });

  it('is refused while the room is taken, and comes whole once it is asked for again', async () => {
    const columns = [column('v', 'varchar')];
    const page = (bytes: number): ScriptedPage => ({ columns, data: '[@filler["x"]]', filler: { text: ROW, bytes } });
    queries.engine.answers('SELECT unread', page(1.05 * MIB));
    queries.engine.answers('SELECT large', page(0.9 * MIB), page(0.9 * MIB));
    const unread = await submitted(queries.ana, { sql: 'SELECT unread' });
    await until(async () => (await queries.ana.get(unread)).body?.['columns'] !== null);
    const large = await submitted(queries.ana, { sql: 'SELECT large' });
    const refused = await streamed(large);
    await queries.ana.delete(unread);

    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5']);
    expect(await refused.json()).toMatchObject({ code: 'too_many_unread_rows' });
    const lines = (await (await streamed(large)).text()).trimEnd().split('\n');
    expect(lines).toHaveLength(1 + 2 * (1 + Math.floor((0.9 * MIB) / ROW.length)));
  });

  it('is refused, and its query goes on, if fewer of its rows have room at once', async () => {
    const filler = { text: ROW, bytes: 1.6 * MIB };
    queries.engine.answers('SELECT many', { columns: [column('v', 'varchar')], data: '[@filler["x"]]', filler });
    const path = await submitted(queries.ana, { sql: 'SELECT many' });
    const refused = await queries.ana.get(`${path}/rows?limit=10000`);

    expect(refused).toMatchObject({ status: 429, body: { code: 'too_many_unread_rows' } });
    expect(await queries.ana.get(`${path}/rows?limit=100`)).toMatchObject({ status: 200 });
    await queries.ana.delete(path);
  });

  it.each(['application/json', 'application/x-ndjson'])(
    'is page_too_large if a row can never be sent: %s',
    async (accept) => {
      const page = {
        columns: [column('v', 'varchar')],
        data: '[["@filler"]]',
        filler: { text: 'x', bytes: 1.2 * MIB },
      };
      queries.engine.answers('SELECT row', page, { data: [['x']] });
      const path = await submitted(queries.ana, { sql: 'SELECT row' });
      const headers = { Accept: accept, Authorization: `Bearer ${queries.ana.token}` };
      const answer = await fetch(`${queries.service.url}${path}/rows`, { headers });

      expect(answer.status).toBe(409);
      expect(await answer.json()).toMatchObject({ code: 'query_failed', error: { code: 'page_too_large' } });
      expect(await ended(queries.ana, path)).toMatchObject({ state: 'failed', error: { code: 'page_too_large' } });
    },
  );
});
