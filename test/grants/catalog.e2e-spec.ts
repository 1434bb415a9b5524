import { column, failed, FakeTrino, type SeenRequest } from '../support/fakes/fake-trino.js';
import { administrator, people } from '../support/service/administrator.js';
import { ApiClient, signIn } from '../support/service/api-client.js';
import { startService, type TestService } from '../support/service/service.js';

const VARCHAR = { ...column('_col0', 'varchar'), typeSignature: { rawType: 'varchar', arguments: [] } };
const SCHEMATA = (catalog: string) => `SELECT schema_name FROM "${catalog}".information_schema.schemata`;
const TABLES = (schema: string, { q = '', after = '', limit = 201 } = {}) =>
  `EXECUTE IMMEDIATE 'SELECT name, total FROM (SELECT table_name AS name, count(*) OVER () AS total ` +
  `FROM "sales".information_schema.tables WHERE table_schema = ? AND strpos(table_name, ?) > 0) ` +
  `WHERE name > ? ORDER BY name LIMIT ${limit}' USING '${schema}', '${q}', '${after}'`;

describe('the tree of the data', () => {
  let engine: FakeTrino;
  let service: TestService;
  let admin: ApiClient;
  let alice: ApiClient;

  const listed = (...rows: unknown[][]) => ({ columns: [VARCHAR, column('total', 'bigint')], data: rows });
  const namesListed = (...names: string[]) => ({ columns: [VARCHAR], data: names.map((name) => [name]) });
  const usersOf = (requests: readonly SeenRequest[]): unknown[] => [
    ...new Set(requests.map(({ headers }) => headers['x-query-user'] ?? headers['x-trino-user'])),
  ];
  const children = async (client: ApiClient, path: string) => {
    const { body } = await client.get(path);
    const items = body?.['items'] as { name: string; in_engine: boolean | null; grants: number; policies?: number }[];
    return {
      items: items.map(({ name, in_engine, grants, policies }) => [name, in_engine, grants, policies]),
      total: body?.['total'],
      engine: body?.['engine'],
      next: body?.['next'],
    };
  };

  beforeAll(async () => {
    engine = new FakeTrino();
    const address = new URL(await engine.listen());
    service = await startService({
      SERVICE_QUERY_HOST: address.hostname,
      SERVICE_QUERY_PORT: address.port,
      SERVICE_QUERY_IMPERSONATION: 'true',
      ACL_READABLE_CATALOGS: 'sales,gone,hidden',
    });
    admin = await administrator(service);
    const ids = await people(service, 'alice', 'bob');
    alice = admin.as((await signIn(admin, 'alice')).access_token);
    engine.answers('SHOW CATALOGS', namesListed('hidden', 'sales', 'system'));
    engine.answers(SCHEMATA('sales'), namesListed('us', 'information_schema', 'eu'));
    engine.answers(SCHEMATA('gone'), failed('CATALOG_NOT_FOUND', "Catalog 'gone' not found"));
    engine.answers(SCHEMATA('hidden'), failed('PERMISSION_DENIED', 'Access Denied: Cannot access catalog'));
    engine.answers(TABLES('eu'), listed(['invoices', 2], ['orders', 2]));
    engine.answers(TABLES('eu', { q: 'ord' }), listed(['orders', 1]));
    engine.answers(TABLES('eu', { limit: 2 }), listed(['invoices', 2], ['orders', 2]));
    engine.answers(TABLES('eu', { after: 'invoices', limit: 2 }), listed(['orders', 2]));
    const grant = (user: 'alice' | 'bob', resource: object, privileges = ['SELECT']) =>
      admin.post('/api/admin/grants', { principal: { type: 'user', id: ids[user] }, resource, privileges });
    await grant('alice', { catalog: 'sales', schema: 'eu', table: 'orders' });
    await grant('bob', { catalog: 'sales', schema: 'eu', table: 'orders' });
    await grant('bob', { catalog: 'sales', schema: 'eu', table: 'orders_2019' });
    await grant('bob', { catalog: 'sales', schema: 'eu', routine: 'refresh' }, ['CALL_PROCEDURE']);
    await grant('bob', { catalog: 'sales' });
    await grant('bob', { catalog: 'gone', schema: 'eu' });
    await grant('bob', { catalog: 'foreign', schema: 'eu' });
    await grant('bob', { catalog: 'hidden', schema: 'eu' });
    const policy = { principal: { type: 'everyone' }, kind: 'deny', privileges: ['SELECT'] };
    await admin.post('/api/admin/policies', { ...policy, resource: { catalog: 'sales', schema: 'apac' } });
  });
  afterAll(async () => {
    await service.stop();
    await engine.close();
  });

  it('has what grants and policies name, with their numbers, and what the engine lists', async () => {
    expect(await children(admin, '/api/admin/catalog')).toEqual({
      // Of catalogs that the settings do not open to the service, its account is no judge.
      items: [
        ['foreign', null, 1, 0],
        ['gone', false, 1, 0],
        ['hidden', true, 1, 0],
        ['sales', true, 5, 1],
        ['system', true, 0, 0],
      ],
      total: 3,
      engine: 'listed',
      next: null,
    });
    expect(await children(admin, '/api/admin/catalog?under=sales')).toMatchObject({
      items: [
        ['apac', false, 0, 1],
        ['eu', true, 4, 0],
        ['us', true, 0, 0],
      ],
      total: 2,
    });
    expect(await children(admin, '/api/admin/catalog?under=sales.eu')).toMatchObject({
      items: [
        ['invoices', true, 0, 0],
        ['orders', true, 2, 0],
        ['orders_2019', false, 1, 0],
      ],
    });
  });

  it.each([
    ['foreign', 'closed', null],
    ['hidden', 'closed', null],
    ['gone', 'listed', false],
  ])('below %s says %s of the engine', async (catalog, said, inEngine) => {
    expect(await children(admin, `/api/admin/catalog?under=${catalog}`)).toMatchObject({
      items: [['eu', inEngine, 1, 0]],
      engine: said,
    });
  });

  it('is searched, and read in pages', async () => {
    expect((await children(admin, '/api/admin/catalog?under=sales.eu&q=ORD')).items).toEqual([
      ['orders', true, 2, 0],
      ['orders_2019', false, 1, 0],
    ]);
    const first = await children(admin, '/api/admin/catalog?under=sales.eu&limit=1');
    expect(first.items).toEqual([['invoices', true, 0, 0]]);
    const second = await children(admin, `/api/admin/catalog?under=sales.eu&limit=1&after=${String(first.next)}`);
    expect(second.items).toEqual([['orders', true, 2, 0]]);
    expect(second.next).not.toBeNull();
  });

  it('is searched for tables of whichever schema', async () => {
    const tables = async (query: string) => {
      const { body } = await admin.get(`/api/admin/catalog/tables?${query}`);
      const items = body?.['items'] as { schema: string; name: string; in_engine: boolean | null; grants: number }[];
      return [
        items.map(({ schema, name, in_engine, grants }) => [schema, name, in_engine, grants]),
        body?.['total'],
        body?.['engine'],
      ];
    };
    const found = (limit: number) =>
      `EXECUTE IMMEDIATE 'SELECT table_schema, table_name, count(*) OVER () FROM "sales".information_schema.tables ` +
      `WHERE table_schema <> ''information_schema'' AND strpos(table_name, ?) > 0 ORDER BY 1, 2 LIMIT ${limit}' USING 'ord'`;
    const all = (...data: unknown[][]) => ({ columns: [VARCHAR, VARCHAR, column('total', 'bigint')], data });
    engine.answers(found(50), all(['eu', 'orders', 2], ['us', 'orders', 2]));
    engine.answers(found(1), all(['eu', 'orders', 2]));
    const orders = ['eu', 'orders', true, 2];
    expect(await tables('catalog=sales&q=ORD')).toEqual([
      [orders, ['eu', 'orders_2019', false, 1], ['us', 'orders', true, 0]],
      2,
      'listed',
    ]);
    expect(await tables('catalog=sales&q=ord&limit=1')).toEqual([[orders], 2, 'listed']);
    expect(await tables('catalog=foreign&q=ord')).toEqual([[], null, 'closed']);
    expect((await admin.get('/api/admin/catalog/tables?catalog=sales&q=')).status).toBe(400);
  });

  it.each(['sales.eu.orders', 'Sales', '', 'a..b'])('is refused under %j', async (under) => {
    const { status, body } = await admin.get(`/api/admin/catalog?under=${under}`);
    expect([status, (body?.['errors'] as { field: string }[])[0]?.field]).toEqual([400, 'under']);
  });

  it("of one's own has one's own grants, and is listed under one's own name", async () => {
    const before = engine.requests.length;
    expect(await children(alice, '/api/catalog?under=sales.eu')).toMatchObject({
      items: [
        ['invoices', true, 0, undefined],
        ['orders', true, 1, undefined],
      ],
      engine: 'listed',
    });
    const submitted = engine.requests
      .slice(before)
      .filter(({ method, body }) => method === 'POST' && body !== 'SELECT current_user');
    expect(usersOf(submitted)).toEqual(['alice']);
  });

  it('is what grants name while the engine is away', async () => {
    engine.answers('SHOW CATALOGS', failed('NO_NODES_AVAILABLE', 'No nodes', 'INSUFFICIENT_RESOURCES'));
    const silent = { total: null, engine: 'unavailable' };
    expect(await children(alice, '/api/catalog')).toEqual({
      ...silent,
      items: [['sales', null, 1, undefined]],
      next: null,
    });
    expect((await children(admin, '/api/admin/catalog')).engine).toBe('unavailable');
  });

  it('is compressed where it is long', async () => {
    engine.answers(TABLES('us'), listed(...Array.from({ length: 150 }, (_, at) => [`table_${at + 100}`, 150])));
    const headers = { 'Accept-Encoding': 'gzip' };
    const long = await admin.send('GET', '/api/admin/catalog?under=sales.us', undefined, headers);
    expect(long.body?.['items']).toHaveLength(150);
    expect([long.headers.get('content-encoding'), long.headers.get('vary')]).toEqual(['gzip', 'Accept-Encoding']);
    const plain = await admin.send('GET', '/api/admin/catalog?under=sales.us', undefined, {
      'Accept-Encoding': 'identity',
    });
    expect([plain.headers.get('content-encoding'), plain.body]).toEqual([null, long.body]);
    const short = await admin.send('GET', '/api/admin/catalog?under=foreign', undefined, headers);
    expect(short.headers.get('content-encoding')).toBeNull();
  });
});
