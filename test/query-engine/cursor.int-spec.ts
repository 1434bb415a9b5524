import { SystemClock } from '../../src/kernel/clock.js';
import {
  DatabaseError,
  DataError,
  DbApiError,
  InterfaceError,
  InternalError,
  OperationalError,
  PermissionDenied,
  ProgrammingError,
} from '../../src/query-engine/domain/db-api-errors.js';
import { sessionFor } from '../../src/query-engine/domain/engine-session.js';
import { Connection } from '../../src/query-engine/connection.js';
import { TrinoStatementClient } from '../../src/query-engine/trino-statement-client.js';
import { FakeServiceTokenSource } from '../support/fakes/fake-service-token-source.js';
import { FakeTimers } from '../support/fakes/fake-timers.js';
import { column, FakeTrino, failed } from '../support/fakes/fake-trino.js';
import { FIXED_RANDOM } from '../support/fakes/fixed-random.js';
import { LogBook } from '../support/fakes/log-book.js';
import { until } from '../support/service/until.js';

describe('the DB-API', () => {
  const engine = new FakeTrino();
  const timers = new FakeTimers();
  let client: TrinoStatementClient;
  let connection: Connection;

  beforeAll(async () => {
    const address = {
      origin: await engine.listen(),
      path: '',
      headers: {},
      password: null,
      user: 'service-account-grantline',
      headerPrefix: 'X-Query',
      caFile: null,
      forwardedProto: null,
      compression: 'none',
      maxPageBytes: 2 ** 25,
    } as const;
    client = new TrinoStatementClient(
      address,
      new FakeServiceTokenSource(),
      timers,
      FIXED_RANDOM,
      new SystemClock(),
      new LogBook(),
    );
  });
  afterAll(async () => {
    client.close();
    await engine.close();
  });
  beforeEach(() => {
    engine.instead = [];
    engine.requests.length = 0;
    connection = connectionOf('ana');
    const n = [column('n', 'bigint'), column('d', 'decimal(3, 1)')];
    engine.answers(
      'SELECT n',
      { columns: n, data: '[[1,"0.1"],[2,"0.2"]]' },
      {},
      { data: '[[9223372036854775807,null]]' },
    );
  });

  const connectionOf = (user: string) => new Connection(client, timers, sessionFor(user), () => undefined);
  const PAGE = { columns: [column('n', 'integer')], data: '[[1],[2]]' };
  const asked = (method: string): number => engine.requests.filter((request) => request.method === method).length;

  it('describes and fetches, row by row and page by page', async () => {
    const cursor = connection.cursor();
    expect(cursor.description).toBeNull();

    await cursor.execute('SELECT n');

    expect(cursor.description).toMatchObject([
      { name: 'n', typeCode: 'bigint', precision: null },
      { name: 'd', typeCode: 'decimal(3, 1)', precision: 3, scale: 1 },
    ]);
    expect(cursor.rowCount).toBe(-1);
    expect(await cursor.fetchOne()).toEqual([1n, '0.1']);
    expect(await cursor.fetchMany(5)).toEqual([
      [2n, '0.2'],
      [9223372036854775807n, null],
    ]);
    expect(await cursor.fetchOne()).toBeNull();
    expect(await cursor.fetchAll()).toEqual([]);
  });

  it('asks for no page ahead before one has been read to its end, and then for one', async () => {
    engine.answers('SELECT pages', PAGE, PAGE, PAGE, PAGE);
    const cursor = connection.cursor();
    await cursor.execute('SELECT pages');
    await cursor.fetchMany(2);
    expect(asked('GET')).toBe(1);

    expect(await cursor.fetchOne()).toEqual([1]);
    await until(() => asked('GET') === 3);
    expect(await cursor.fetchOne()).toEqual([2]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(asked('GET')).toBe(3);
    expect(await cursor.fetchAll()).toHaveLength(4);
  });

  it('hands out the rows before a page that fails, and throws in its place', async () => {
    engine.answers('SELECT broken', PAGE, PAGE, failed('GENERIC_INTERNAL_ERROR', 'a split failed'));
    const cursor = connection.cursor();
    await cursor.execute('SELECT broken');

    expect(await cursor.fetchMany(3)).toHaveLength(3);
    await until(() => asked('GET') === 3);
    expect(await cursor.fetchOne()).toEqual([2]);
    await expect(cursor.fetchOne()).rejects.toThrow('a split failed');
  });

  it('reads a page of any number of rows', async () => {
    const rows = Array.from({ length: 300_000 }, (_, n) => [n]);
    engine.answers('SELECT many', { columns: [column('n', 'integer')], data: rows });
    const cursor = connection.cursor();
    await cursor.execute('SELECT many');

    expect(await cursor.fetchOne()).toEqual([0]);
    expect(await cursor.fetchAll()).toHaveLength(299_999);
  });

  it.each([
    [
      'leaving the loop early',
      async (running: Connection) => {
        const cursor = running.cursor();
        await cursor.execute('SELECT n');
        for await (const row of cursor) if (row[0] === 1n) break;
      },
    ],
    [
      'close of the cursor',
      async (running: Connection) => {
        const cursor = running.cursor();
        await cursor.execute('SELECT n');
        await cursor.close();
      },
    ],
    [
      'close of the connection',
      async (running: Connection) => {
        await running.cursor().execute('SELECT n');
        await running.close();
      },
    ],
    [
      'the next statement of the same cursor',
      async (running: Connection) => {
        const cursor = running.cursor();
        await cursor.execute('SELECT n');
        await cursor.execute('SELECT 1');
        await cursor.fetchAll();
      },
    ],
  ])('ends the statement on the engine at %s', async (_, leave) => {
    await leave(connection);

    expect(asked('DELETE')).toBe(1);
    expect(engine.statements.find(({ sql, cancelled }) => sql === 'SELECT n' && cancelled)).toBeDefined();
  });

  it('ends the statement on the engine when its signal is aborted', async () => {
    engine.answers('SELECT slow', { after: new Promise(() => undefined) });
    const abort = new AbortController();
    const executing = connection.cursor().execute('SELECT slow', [], { signal: abort.signal });
    await until(() => asked('GET') > 0);
    abort.abort(new Error('enough'));

    await expect(executing).rejects.toThrow('enough');
    expect(engine.statements.at(-1)?.cancelled).toBe(true);
  });

  it('sends no DELETE when all rows were read', async () => {
    const cursor = connection.cursor();
    await cursor.execute('SELECT n');
    await cursor.fetchAll();
    await connection.close();

    expect(asked('DELETE')).toBe(0);
  });

  it('counts the changed rows, and does not share its session', async () => {
    engine.answers('USE lake.raw', { headers: { 'X-Query-Set-Catalog': 'lake', 'X-Query-Set-Schema': 'raw' } });
    engine.answers('INSERT', {
      columns: [column('rows', 'bigint')],
      data: [[3]],
      updateType: 'INSERT',
      updateCount: 3,
    });
    const cursor = connection.cursor();
    await cursor.execute('USE lake.raw');
    await cursor.execute('INSERT');
    await cursor.fetchAll();

    expect(cursor.rowCount).toBe(3);
    expect(engine.statements.at(-1)?.session).toMatchObject({ catalog: 'lake', schema: 'raw' });
    expect(connectionOf('bo').session.catalog).toBeNull();
  });

  it('fills question marks on the engine', async () => {
    const sql = "EXECUTE IMMEDIATE 'SELECT ?' USING 'it''s'";
    engine.answers(sql, { columns: [column('c', 'varchar')], data: [["it's"]] });
    const cursor = connection.cursor();
    await cursor.execute('SELECT ?', ["it's"]);

    expect(await cursor.fetchOne()).toEqual(["it's"]);
  });

  it.each([
    ['SYNTAX_ERROR', 'USER_ERROR', ProgrammingError, false],
    ['PERMISSION_DENIED', 'USER_ERROR', PermissionDenied, false],
    ['DIVISION_BY_ZERO', 'USER_ERROR', DataError, false],
    ['TRANSACTION_CONFLICT', 'USER_ERROR', ProgrammingError, true],
    ['EXCEEDED_GLOBAL_MEMORY_LIMIT', 'INSUFFICIENT_RESOURCES', OperationalError, false],
    ['CLUSTER_OUT_OF_MEMORY', 'INSUFFICIENT_RESOURCES', OperationalError, true],
    ['GENERIC_INTERNAL_ERROR', 'INTERNAL_ERROR', InternalError, false],
    ['NO_NODES_AVAILABLE', 'INTERNAL_ERROR', InternalError, true],
    ['JDBC_ERROR', 'EXTERNAL', OperationalError, true],
    ['UNSUPPORTED_TABLE_TYPE', 'EXTERNAL', OperationalError, false],
  ])('throws %s of kind %s as what it is', async (name, kind, expected, isRetriable) => {
    engine.answers('SELECT wrong', failed(name, 'the text', kind));
    const failing = connection.cursor().execute('SELECT wrong');

    await expect(failing).rejects.toBeInstanceOf(expected);
    await expect(failing).rejects.toBeInstanceOf(DatabaseError);
    await expect(failing).rejects.toMatchObject({ engine: { name, line: 1 }, queryId: engine.statements.at(-1)?.id });
    await expect(failing).rejects.toMatchObject({ isRetriable });
  });

  it.each([
    ['a bigint with a fraction', 'bigint', '[[1.5]]'],
    ['a bigint of text', 'bigint', '[["x"]]'],
    ['an integer with a fraction', 'integer', '[[1.5]]'],
    ['a value too many', 'bigint', '[[1,2]]'],
  ])('throws an InternalError for a page with %s, and ends the statement', async (_, type, data) => {
    engine.answers('SELECT broken', { columns: [column('n', type)], data: '[]' }, { data }, {});
    const failing = connection.cursor().execute('SELECT broken');

    await expect(failing).rejects.toBeInstanceOf(InternalError);
    expect(engine.statements.at(-1)?.cancelled).toBe(true);
  });

  it('throws nothing outside its tree', async () => {
    const closed = connection.cursor();
    await closed.close();
    const other = connectionOf('');
    engine.instead = [{ status: 500 }, { body: 'no JSON' }];

    await expect(connection.cursor().execute('SELECT 1')).rejects.toBeInstanceOf(OperationalError);
    await expect(connection.cursor().execute('SELECT 1')).rejects.toBeInstanceOf(InternalError);
    await expect(closed.execute('SELECT 1')).rejects.toBeInstanceOf(InterfaceError);
    await expect(connection.cursor().fetchOne()).rejects.toBeInstanceOf(InterfaceError);
    await expect(other.cursor().execute('SELECT 1')).rejects.toBeInstanceOf(InterfaceError);
    await expect(connection.cursor().execute('SELECT ?', [2 ** 60])).rejects.toBeInstanceOf(InterfaceError);
    await connection.close();
    expect(() => connection.cursor()).toThrow(DbApiError);
  });
});
