import { administrator, people } from '../support/service/administrator.js';
import type { Answer, ApiClient } from '../support/service/api-client.js';
import { sharedService } from '../support/service/service.js';

const GRANTS = '/api/admin/grants';
const ACCESS = '/api/admin/access';
const QUERY = { catalog: 'sales', schema: 'system', routine: 'query' };

/** Nodes beside the levels of a catalog: everything, routines, the engine, acting as others. */
describe('nodes of every kind', () => {
  const service = sharedService();
  let admin: ApiClient;
  let ids: Record<'alice' | 'bob', number>;
  beforeAll(async () => {
    admin = await administrator(service);
    ids = await people(service, 'alice', 'bob');
  });

  const toAlice = (resource: object, privileges: string[]) => ({
    ...{ principal: { type: 'user', id: ids.alice }, resource, privileges },
  });
  const items = ({ body }: Answer) => body?.['items'] as Record<string, unknown>[];
  const fields = ({ body }: Answer) => (body?.['errors'] as { field: string }[]).map(({ field }) => field);

  it('routines: granted once, listed, explained, found by who, and denied', async () => {
    const asked = toAlice(QUERY, ['EXECUTE_FUNCTION']);
    const given = await admin.post(GRANTS, asked);
    expect(given).toMatchObject({ status: 201, body: { resource: QUERY, privileges: ['EXECUTE_FUNCTION'] } });
    expect(await admin.post(GRANTS, asked)).toMatchObject({ status: 200, body: { id: given.body?.['id'] } });
    const beside = await admin.post(GRANTS, toAlice({ catalog: 'sales', schema: 'system' }, ['EXECUTE_FUNCTION']));
    expect(beside.status).toBe(201);
    const sameName = await admin.post(
      GRANTS,
      toAlice({ catalog: 'sales', schema: 'system', table: 'query' }, ['SELECT']),
    );
    expect(sameName.status).toBe(201);

    expect(items(await admin.get(`${GRANTS}?routine=query`))).toMatchObject([{ resource: QUERY }]);
    expect(items(await admin.get(`${GRANTS}?table=query`))).toMatchObject([{ id: sameName.body?.['id'] }]);
    expect(items(await admin.get(`${GRANTS}?catalog=sales&level=routine`))).toHaveLength(1);
    const question = 'catalog=sales&schema=system&routine=query&privilege=EXECUTE_FUNCTION';
    const why = await admin.get(`${ACCESS}/explain?principal=user:${ids.alice}&${question}`);
    expect(why.body).toMatchObject({ allowed: true, grants: [given.body?.['id'], beside.body?.['id']] });
    expect(items(await admin.get(`${ACCESS}/who?${question}`))).toMatchObject([
      { principal: { name: 'alice' }, via: [{ level: 'routine' }, { level: 'schema' }] },
    ]);

    const resources: unknown[] = [];
    let after = '';
    do {
      const page = await admin.get(`${ACCESS}/effective?principal=user:${ids.alice}&limit=1${after}`);
      resources.push(...items(page).map(({ resource }) => resource));
      const next = page.body?.['next'];
      after = typeof next === 'string' ? `&after=${next}` : '';
    } while (after !== '');
    expect(resources).toEqual([
      { catalog: 'sales', schema: 'system' },
      QUERY,
      { ...QUERY, routine: undefined, table: 'query' },
    ]);

    const deny = { kind: 'deny', principal: { type: 'everyone' }, resource: QUERY };
    const denied = await admin.post('/api/admin/policies', deny);
    expect(denied.body).toMatchObject({
      resource: QUERY,
      privileges: ['EXECUTE_FUNCTION', 'GRANT_EXECUTE_FUNCTION', 'CALL_PROCEDURE'],
    });
    expect((await admin.get(`${ACCESS}/explain?principal=user:${ids.alice}&${question}`)).body).toMatchObject({
      allowed: false,
      policies: [denied.body?.['id']],
    });
  });

  it('a filter anywhere in the catalog takes its routines, and who and explain say so', async () => {
    await admin.post(GRANTS, toAlice({ catalog: 'hr', schema: 'system' }, ['CALL_PROCEDURE']));
    const question = 'catalog=hr&schema=system&privilege=CALL_PROCEDURE';
    expect(items(await admin.get(`${ACCESS}/who?${question}`))).toHaveLength(1);

    const filter = await admin.post('/api/admin/policies', {
      kind: 'row_filter',
      principal: { type: 'user', id: ids.alice },
      resource: { catalog: 'hr', schema: 'staff', table: 'people' },
      expression: 'false',
    });
    expect(items(await admin.get(`${ACCESS}/who?${question}`))).toEqual([]);
    expect((await admin.get(`${ACCESS}/explain?principal=user:${ids.alice}&${question}`)).body).toMatchObject({
      allowed: false,
      policies: [filter.body?.['id']],
    });
  });

  it('ownership yields to a restriction: the next run reports it, effective, explain and its smallest change say so', async () => {
    const [schema, table] = [
      { catalog: 'own', schema: 'eu' },
      { catalog: 'own', schema: 'eu', table: 'orders' },
    ];
    await admin.post(GRANTS, toAlice({ catalog: 'own' }, ['OWNERSHIP']));
    const owned = async () =>
      items(await admin.get(`${ACCESS}/effective?principal=user:${ids.alice}`)).flatMap(({ resource, privileges }) =>
        (resource as { catalog?: string }).catalog === 'own' ? [[resource, privileges]] : [],
      );
    const restrictedOwners = async () =>
      ((await admin.post('/api/admin/acl/preview')).body?.['checks'] as { code: string; message: string }[]).filter(
        ({ code }) => code === 'ownership-restricted',
      );
    const why = async (privilege: string, query: string) =>
      (await admin.get(`${ACCESS}/explain?principal=user:${ids.alice}&catalog=own&${query}&privilege=${privilege}`))
        .body;
    const questions = [
      ['SCHEMA_OWNERSHIP', 'schema=eu'],
      ['TABLE_OWNERSHIP', 'schema=eu&table=orders'],
    ] as const;
    expect(await owned()).toEqual([[{ catalog: 'own' }, ['OWNERSHIP']]]);
    expect(await restrictedOwners()).toEqual([]);

    const filter = {
      ...{ kind: 'row_filter', principal: { type: 'user', id: ids.alice } },
      ...{ resource: table, expression: 'id > 1' },
    };
    const { body } = await admin.post('/api/admin/policies', filter);
    const policy = Number(body?.['id']);

    expect(await restrictedOwners()).toEqual([
      {
        code: 'ownership-restricted',
        severity: 'warning',
        message: expect.stringMatching(/on own[.]eu, own[.]eu[.]orders: .* for alice,/) as string,
      },
    ]);
    expect(await owned()).toEqual([
      [{ catalog: 'own' }, ['OWNERSHIP']],
      [schema, ['TABLE_OWNERSHIP']],
      [table, []],
    ]);
    const except = { kind: 'except', policy_id: policy, principal: { type: 'user', id: ids.alice } };
    for (const [privilege, query] of questions)
      expect(await why(privilege, query)).toMatchObject({
        ...{ allowed: false, policies: [policy] },
        smallest_change: { steps: [except] },
      });
    expect(await why('TABLE_OWNERSHIP', 'schema=eu&table=items')).toMatchObject({ allowed: true, policies: [] });

    const excepted = { ...filter, except: [except.principal] };
    expect((await admin.send('PUT', `/api/admin/policies/${policy}`, excepted)).status).toBe(200);
    for (const [privilege, query] of questions) expect(await why(privilege, query)).toMatchObject({ allowed: true });
    expect(await restrictedOwners()).toEqual([]);
  });

  it.each([
    ['a routine beside a table', { ...QUERY, table: 't' }, ['EXECUTE_FUNCTION'], 'resource.routine'],
    ['a routine without its schema', { catalog: 'sales', routine: 'query' }, ['EXECUTE_FUNCTION'], 'resource.schema'],
    ['a schema without its catalog', { schema: 'eu' }, ['SELECT'], 'resource.catalog'],
    ['a catalog beside the engine', { catalog: 'sales', engine: true }, ['VIEW_QUERIES'], 'resource.catalog'],
    ['an engine that is false', { engine: false }, ['VIEW_QUERIES'], 'resource.engine'],
    ['a catalog beside acting', { catalog: 'sales', as: { type: 'everyone' } }, ['IMPERSONATE'], 'resource.catalog'],
    ['acting as a name', { as: 'alice' }, ['IMPERSONATE'], 'resource.as'],
    ['acting as null', { as: null }, ['IMPERSONATE'], 'resource.as'],
    ['acting as a user by name', { as: { type: 'user', name: 'alice' } }, ['IMPERSONATE'], 'resource.as.id'],
    ['SELECT on a routine', QUERY, ['SELECT'], 'privileges'],
    ['a function on a table', { catalog: 'a', schema: 'b', table: 'c' }, ['EXECUTE_FUNCTION'], 'privileges'],
    ['writing to system', { catalog: 'system', schema: 'runtime' }, ['SELECT', 'INSERT'], 'privileges'],
    ['functions of system', { catalog: 'system' }, ['EXECUTE_FUNCTION'], 'privileges'],
    ['a column', { catalog: 'sales', column: 'c' }, ['SELECT'], 'resource.column'],
  ])('are refused as %s', async (_, resource, privileges, field) => {
    const refused = await admin.post(GRANTS, toAlice(resource, privileges));

    expect(refused).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
    expect(fields(refused)).toContain(field);
  });

  it('carry no filter and no mask but in the tree', async () => {
    for (const resource of [QUERY, { catalog: 'system' }, { catalog: 'system', schema: 'runtime' }]) {
      const policy = { principal: { type: 'everyone' }, resource, expression: 'true' };
      const refused = await admin.post('/api/admin/policies', { kind: 'row_filter', ...policy });

      expect(fields(refused)).toEqual(['resource']);
    }
  });

  it.each([
    ['routine=a&routine=b', 'routine'],
    ['engine=true&catalog=a', 'engine'],
    ['as=user:1&engine=true', 'engine'],
    ['as=user', 'as'],
    ['level=rows', 'level'],
  ])('filter a list of grants, not as ?%s', async (query, field) => {
    expect(fields(await admin.get(`${GRANTS}?${query}`))).toContain(field);
  });
});
