import { EngineNames } from '../../src/grants/domain/admission-ports.js';
import { Settings } from '../../src/platform/settings/settings.js';
import { EngineCatalogNames } from '../../src/query-engine/engine-catalog-names.service.js';
import { EngineConnections } from '../../src/query-engine/engine-connections.service.js';
import { administrator, people } from '../support/service/administrator.js';
import type { ApiClient } from '../support/service/api-client.js';
import { FakeTimers } from '../support/fakes/fake-timers.js';
import { column, failed, FakeTrino } from '../support/fakes/fake-trino.js';
import { startService, type TestService } from '../support/service/service.js';

const NEVER = new Promise<void>(() => undefined);
const VARCHAR = { ...column('_col0', 'varchar'), typeSignature: { rawType: 'varchar', arguments: [] } };
const SCHEMATA = 'SELECT schema_name FROM "sales".information_schema.schemata';
const COLUMNS = (tables: string) =>
  `EXECUTE IMMEDIATE 'SELECT table_name, column_name FROM "sales".information_schema.columns WHERE table_schema = ? ` +
  `AND table_name IN (${tables.replace(/'[^']*'/g, '?')})' USING 'eu', ${tables}`;

describe('names and expressions, as the engine knows them', () => {
  let engine: FakeTrino;
  let service: TestService;
  let admin: ApiClient;
  let alice: number;

  beforeAll(async () => {
    engine = new FakeTrino();
    const address = new URL(await engine.listen());
    service = await startService({
      SERVICE_QUERY_HOST: address.hostname,
      SERVICE_QUERY_PORT: address.port,
      ACL_READABLE_CATALOGS: 'sales,gone,hidden,denied',
    });
    admin = await administrator(service);
    ({ alice } = await people(service, 'alice'));
    engine.answers(SCHEMATA, { columns: [VARCHAR], data: [['information_schema'], ['eu']] });
    const columns = {
      columns: [VARCHAR, VARCHAR],
      data: [
        ['orders', 'id'],
        ['orders', 'region'],
      ],
    };
    for (const tables of [`'orders'`, `'nothing'`, `'orders', 'nothing'`]) engine.answers(COLUMNS(tables), columns);
    engine.answers(SCHEMATA.replace('sales', 'gone'), failed('CATALOG_NOT_FOUND', "Catalog 'gone' not found"));
    engine.answers(SCHEMATA.replace('sales', 'hidden'), { columns: [VARCHAR], data: [['information_schema']] });
    engine.answers(
      SCHEMATA.replace('sales', 'denied'),
      failed('PERMISSION_DENIED', 'Access Denied: Cannot access catalog'),
    );
  });
  afterAll(async () => {
    await service.stop();
    await engine.close();
  });

  const asked = (resource: object) => ({ principal: { type: 'user', id: alice }, resource, privileges: ['SELECT'] });

  it.each<[object, string[] | undefined]>([
    [{ catalog: 'sales', schema: 'eu', table: 'orders' }, undefined],
    [{ catalog: 'sales', schema: 'eu', table: 'nothing' }, ['the engine has no table sales.eu.nothing']],
    [{ catalog: 'sales', schema: 'us' }, ['the engine has no schema sales.us']],
    [{ catalog: 'gone', schema: 'eu' }, ['the engine has no catalog gone']],
    // No warning for catalogs that the service may not see.
    [{ catalog: 'hidden', schema: 'eu' }, undefined],
    [{ catalog: 'denied', schema: 'eu' }, undefined],
    [{ catalog: 'foreign', schema: 'eu' }, undefined],
  ])('a grant on %j is answered with %j', async (resource, warnings) => {
    const { status, body } = await admin.post('/api/admin/grants', asked(resource));
    expect(status).toBe(201);
    expect(body?.['warnings']).toEqual(warnings);
  });

  it('a batch asks once for each schema', async () => {
    const before = engine.statements.length;
    const eu = { catalog: 'sales', schema: 'eu' };
    const grant = [{ ...eu, table: 'orders' }, { ...eu, table: 'nothing' }, { ...eu }, { catalog: 'sales' }].map(asked);
    const { body } = await admin.post('/api/admin/grants/batch', { grant });
    const warnings = (body?.['granted'] as { warnings?: string[] }[]).map((each) => each.warnings ?? []);
    expect(warnings).toEqual([[], ['the engine has no table sales.eu.nothing'], [], []]);
    expect(engine.statements).toHaveLength(before + 2);
  });

  it('a policy gets warnings of unknown columns, and of expressions that the engine cannot read', async () => {
    const orders = { catalog: 'sales', schema: 'eu', table: 'orders' };
    const policy = (rule: object) => admin.post('/api/admin/policies', { principal: { type: 'everyone' }, ...rule });
    const hidden = await policy({ kind: 'hidden_column', resource: { ...orders, column: 'card' } });
    expect(hidden.body).toMatchObject({ warnings: ['the engine has no column card in sales.eu.orders'] });
    const validate = 'EXPLAIN (TYPE VALIDATE) SELECT 1 FROM "sales"."eu"."orders" WHERE (regoin = 1)';
    engine.answers(validate, failed('COLUMN_NOT_FOUND', "line 1:70: Column 'regoin' cannot be resolved"));
    const filter = await policy({ kind: 'row_filter', resource: orders, expression: 'regoin = 1' });
    expect(filter.body).toMatchObject({
      warnings: ["the engine cannot read the expression: Column 'regoin' cannot be resolved"],
    });
  });

  // As seen on Trino 483, where 45 masks in force were refused and taken as this statement is.
  it.each([
    ['upper(region)', null, null],
    ['secret()', failed('PERMISSION_DENIED', 'Access Denied: Cannot execute function secret'), null],
    [
      'count(*)',
      failed(
        'EXPRESSION_NOT_SCALAR',
        'line 1:229: WHERE clause cannot contain aggregations, window functions: [count(*)]',
      ),
      'the engine cannot read the expression: WHERE clause cannot contain aggregations, window functions: [count(*)]',
    ],
    [
      '1',
      failed(
        'TYPE_MISMATCH',
        'line 1:119: recursion step relation output type (integer) is not coercible to recursion base relation output type (varchar(25)) at column 1',
      ),
      "the expression gives integer, which the engine does not take for the column's varchar(25)",
    ],
  ])('a mask by %j gets a warning where the engine refuses it', async (expression, refusal, warning) => {
    const orders = '"sales"."eu"."orders"';
    const sql =
      `EXPLAIN (TYPE VALIDATE) WITH RECURSIVE "mask of grantline" (masked) AS (SELECT "region" FROM ${orders} UNION ALL ` +
      `SELECT m.masked FROM "mask of grantline" CROSS JOIN (SELECT (${expression}) FROM ${orders} WHERE (${expression}) IS NULL) m (masked)) ` +
      'SELECT 1 FROM "mask of grantline"';
    engine.answers(sql, refusal ?? { columns: [column('Valid', 'boolean')], data: [[true]] });
    const { status, body } = await admin.post('/api/admin/policies', {
      ...{ principal: { type: 'everyone' }, kind: 'column_mask', expression },
      resource: { catalog: 'sales', schema: 'eu', table: 'orders', column: 'region' },
    });
    await admin.delete(`/api/admin/policies/${String(body?.['id'])}`);
    expect(status).toBe(201);
    expect(body?.['warnings']).toEqual(warning === null ? undefined : [warning]);
    expect(engine.statements.at(-1)?.sql).toBe(sql);
  });

  it('is not waited for', async () => {
    engine.answers(SCHEMATA, { after: NEVER });
    const timers = new FakeTimers();
    const names = new EngineCatalogNames(service.app.get(EngineConnections), timers, service.app.get(Settings));
    const answer = names.unknownParts([{ catalog: 'sales', schema: 'us' }]);
    await timers.untilWaiting();
    timers.advance(1_500);
    expect(await answer).toEqual([null]);
  });

  it('is not asked where none is configured', async () => {
    const other = await startService({ ACL_READABLE_CATALOGS: 'sales' });
    expect(await other.app.get(EngineNames).unknownParts([{ catalog: 'sales', schema: 'us' }])).toEqual([null]);
    await other.stop();
  });
});
