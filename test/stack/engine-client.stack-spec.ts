import {
  connect,
  type Connection,
  type NativeValue,
  type Parameter,
  ProgrammingError,
  type Row,
} from '../../src/query-engine/client/index.js';
import { type ApiClient, ApiClient as Client, signedUp } from '../support/service/api-client.js';
import { startService, type TestService } from '../support/service/service.js';
import { emptyRules } from './running/config-map.js';
import { READABLE_CATALOG, WRITABLE_CATALOG } from './running/grantline.js';
import { openEngine } from './running/open-engine.js';
import { until } from './running/until.js';
import { kubectlOf, openStack } from './stack.js';

const stack = openStack(process.env);
/** Seconds from what ends a statement to its end on the engine, by the engine's own record. */
const TARGET_SECONDS = 2;

let engine: string;
let observer: Connection;
let service: TestService;
let ana: ApiClient;
beforeAll(async () => {
  engine = await openEngine(stack);
  observer = connectAs('observer');
  const { hostname, port } = new URL(engine);
  const at = { SERVICE_QUERY_HOST: hostname, SERVICE_QUERY_PORT: port, SERVICE_QUERY_HEADER_PREFIX: 'X-Trino' };
  service = await startService({ ...at, SERVICE_QUERY_JWT_ENABLED: 'false' });
  ana = new Client(service.url);
  ana = ana.as((await signedUp(ana, 'ana')).access_token);
});
afterAll(async () => {
  await observer.close();
  await service.stop();
  await emptyRules(kubectlOf(stack));
});

const connectAs = (user: string) => connect({ url: engine, user });

async function rowsOf(connection: Connection, sql: string, parameters: readonly Parameter[] = []): Promise<Row[]> {
  const cursor = connection.cursor();
  await cursor.execute(sql, parameters);
  return cursor.fetchAll();
}

async function submitted(sql: string): Promise<string> {
  return until('the service takes statements', 60_000, async () => {
    const answer = await ana.post('/api/queries', { sql });
    return answer.status === 201 ? (answer.headers.get('location') ?? undefined) : undefined;
  });
}

describe('what a statement changes for the next one', () => {
  let one: Connection;
  let other: Connection;
  beforeEach(() => {
    [one, other] = [connectAs('ana'), connectAs('ana')];
  });
  afterEach(() => Promise.all([one.close(), other.close()]));

  const PLACE = 'SELECT current_catalog, current_schema';
  const limitOf = async (connection: Connection) =>
    (await rowsOf(connection, "SHOW SESSION LIKE 'query_max_run_time'"))[0]?.[1];

  it('stays with its connection: USE, SET SESSION, PREPARE, and their opposites', async () => {
    const before = await limitOf(other);
    for (const sql of [
      `USE ${READABLE_CATALOG}.tiny`,
      "SET SESSION query_max_run_time = '7m'",
      'PREPARE counted FROM SELECT count(*) FROM region WHERE regionkey < ?',
    ])
      await rowsOf(one, sql);

    expect(await rowsOf(one, PLACE)).toEqual([[READABLE_CATALOG, 'tiny']]);
    expect(await limitOf(one)).toBe('7m');
    expect(await rowsOf(one, 'EXECUTE counted USING 3')).toEqual([[3n]]);

    expect(await rowsOf(other, PLACE)).toEqual([[null, null]]);
    expect(await limitOf(other)).toBe(before);
    await expect(rowsOf(other, 'EXECUTE counted USING 3')).rejects.toMatchObject({ engine: { name: 'NOT_FOUND' } });

    await rowsOf(one, 'RESET SESSION query_max_run_time');
    await rowsOf(one, 'DEALLOCATE PREPARE counted');
    expect(await limitOf(one)).toBe(before);
    await expect(rowsOf(one, 'EXECUTE counted USING 3')).rejects.toBeInstanceOf(ProgrammingError);
  });

  it('stays there while both run at once', async () => {
    const schemas = ['tiny', 'sf1', 'sf100'];
    const connections = schemas.map(() => connectAs('ana'));
    await Promise.all(connections.map((it, at) => rowsOf(it, `USE ${READABLE_CATALOG}.${schemas[at] ?? ''}`)));
    const seen = await Promise.all(
      Array.from({ length: 12 }, (_, at) => rowsOf(connections[at % 3] ?? one, 'SELECT current_schema')),
    );
    await Promise.all(connections.map((it) => it.close()));

    expect(seen.flat(2)).toEqual(Array.from({ length: 12 }, (_, at) => schemas[at % 3]));
  });
});

describe('parameters', () => {
  const HOSTILE = [
    "'; DROP SCHEMA memory.default CASCADE; --",
    "' OR '1'='1",
    "'' UNION SELECT current_user --",
    '\\',
    "\\'",
    '"; SELECT 1; "',
    '/* */ ? :name $1 ${x} {{y}}',
    '\r\n\t',
    '\u0000',
    '’＇\u02bc',
    '名 😀 e\u0301',
    "'".repeat(1_000),
  ];
  const values: [string, Parameter, NativeValue][] = [
    ...HOSTILE.map((text): [string, Parameter, NativeValue] => [JSON.stringify(text).slice(0, 40), text, text]),
    ['NULL', null, null],
    ['a boolean', false, false],
    ['the largest bigint', 2n ** 63n - 1n, 2n ** 63n - 1n],
    ['the smallest bigint', -(2n ** 63n), -(2n ** 63n)],
    ['an integer', -7, -7],
    ['a double', 0.1, 0.1],
    ['no number', Number.NaN, Number.NaN],
    ['negative zero', -0, -0],
    ['bytes', Uint8Array.of(0, 39, 255), Uint8Array.of(0, 39, 255)],
    ['an instant', new Date('2026-11-20T12:00:00.123Z'), '2026-11-20 12:00:00.123 UTC'],
    ['a list', ["it's", null, '?'], ["it's", null, '?']],
  ];

  it.each(values)('come back as data: %s', async (_, given, expected) => {
    expect(await rowsOf(observer, `SELECT '?''?', ? /* ? */`, [given])).toEqual([["?'?", expected]]);
  });

  it('are compared as data', async () => {
    const sql = `SELECT count(*) FROM ${READABLE_CATALOG}.tiny.region WHERE name = ? OR name = ?`;
    expect(await rowsOf(observer, sql, [HOSTILE[1] ?? '', 'ASIA'])).toEqual([[1n]]);
  });
});

describe('a statement is cancelled on the engine', () => {
  let connection: Connection;
  let count = 0;
  beforeAll(() => {
    connection = connectAs('ana');
  });
  afterAll(() => connection.close());

  /** Its rows never end. @returns SQL by which the engine finds it */
  const rows = () =>
    `SELECT a.orderkey, ${(count += 1)} AS mark FROM ${READABLE_CATALOG}.sf1.lineitem a, ${READABLE_CATALOG}.sf1.lineitem b`;
  /** It never has a row. */
  const silence = () => rows().replace('a.orderkey', 'count(*)');

  async function expectCancelled(sql: string, leave: () => unknown): Promise<void> {
    await until('it runs', 60_000, async () => ((await stateOf(sql))?.[0] === 'RUNNING' ? true : undefined));
    const left = performance.timeOrigin + performance.now();
    await leave();
    const [, code, ended] = await until('it has ended', 120_000, async () => {
      const state = await stateOf(sql);
      return state?.[0] === 'FAILED' ? state : undefined;
    });
    const seconds = (Number(ended) * 1000 - left) / 1000;
    console.log(
      `${expect.getState().currentTestName ?? ''}: ended after ${seconds.toFixed(2)} s (target: ${TARGET_SECONDS} s)`,
    );

    expect(code).toBe('USER_CANCELED'); // and not abandoned, as after five minutes
  }

  async function stateOf(sql: string): Promise<Row | undefined> {
    const record = 'SELECT state, error_code, to_unixtime("end") FROM system.runtime.queries WHERE query = ?';
    return (await rowsOf(observer, record, [sql]))[0];
  }

  it('by the signal of its caller', async () => {
    const [sql, abort] = [silence(), new AbortController()];
    const executing = connection.cursor().execute(sql, [], { signal: abort.signal });
    executing.catch(() => undefined);
    await expectCancelled(sql, () => abort.abort(new Error('enough')));

    await expect(executing).rejects.toThrow('enough');
  });

  it('by the close of its cursor, while it is waited for', async () => {
    const [sql, cursor] = [silence(), connection.cursor()];
    const executing = cursor.execute(sql);
    executing.catch(() => undefined);
    await expectCancelled(sql, () => cursor.close());

    await expect(executing).rejects.toThrow('the cursor is closed');
  });

  it('by leaving the loop over its rows', async () => {
    const [sql, cursor] = [rows(), connection.cursor()];
    await cursor.execute(sql);
    await expectCancelled(sql, async () => {
      for await (const [, mark] of cursor) if (mark !== null) break;
    });
  });

  it.each(['application/x-ndjson', 'text/csv'])('by the client that goes away during %s', async (accept) => {
    const [sql, abort] = [rows(), new AbortController()];
    const headers = { Accept: accept, Authorization: `Bearer ${ana.token}` };
    const answer = await fetch(`${service.url}${await submitted(sql)}/rows`, { headers, signal: abort.signal });
    await answer.body?.getReader().read();

    await expectCancelled(sql, () => abort.abort());
  });

  it('by DELETE', async () => {
    const sql = silence();
    const path = await submitted(sql);
    await expectCancelled(sql, () => ana.delete(path));
  });
});

describe('EXPLAIN ANALYZE of a write', () => {
  const TABLE = `${WRITABLE_CATALOG}.default.explained`;
  beforeAll(() => rowsOf(observer, `CREATE TABLE ${TABLE} AS SELECT 1 AS n`));
  afterAll(() => rowsOf(observer, `DROP TABLE ${TABLE}`));

  it('writes whether its plan is read or not, and its plan is kept for a reader', async () => {
    const path = await submitted(`EXPLAIN ANALYZE INSERT INTO ${TABLE} SELECT 2`);
    await until('the row is written', 60_000, async () =>
      (await rowsOf(observer, `SELECT count(*) FROM ${TABLE} WHERE n = 2`))[0]?.[0] === 1n ? true : undefined,
    );
    const headers = { Accept: 'application/x-ndjson', Authorization: `Bearer ${ana.token}` };
    const lines = (await (await fetch(`${service.url}${path}/rows`, { headers })).text()).split('\n');

    expect(lines[0]).toBe('{"columns":[{"name":"Query Plan","type":"varchar"}]}');
    expect(lines[1]).toContain('TableCommit');
    expect((await ana.get(path)).body).toMatchObject({ state: 'finished', rows_returned: 1 });
  });
});
