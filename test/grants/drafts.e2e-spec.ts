import { people, sharedAdministrator } from '../support/service/administrator.js';
import { sharedService } from '../support/service/service.js';

describe('the preview of a draft', () => {
  const service = sharedService({
    ACL_METADATA_CATALOG: 'grantline',
    SERVICE_QUERY_USER: 'service-account-grantline',
  });
  const admin = sharedAdministrator(service);
  let ids: Record<'alice' | 'bob', number>;
  let readers: { type: 'group'; id: number };
  let read: number;
  let filter: number;
  const orders = { catalog: 'sales', schema: 'eu', table: 'orders' };
  const idOf = async (path: string, body: object) => Number((await admin.post(path, body)).body?.['id']);
  const preview = (draft: object, query = '') => admin.post(`/api/admin/access/preview${query}`, draft);
  const NO_RESTRICTIONS = { row_filters: [], masked_columns: [], hidden_columns: [] };

  beforeAll(async () => {
    ids = await people(service, 'alice', 'bob');
    readers = { type: 'group', id: await idOf('/api/admin/groups', { name: 'readers' }) };
    await admin.send('PUT', `/api/admin/groups/${readers.id}/members/${ids.alice}`);
    read = await idOf('/api/admin/grants', {
      principal: readers,
      resource: { catalog: 'sales' },
      privileges: ['SELECT'],
    });
    const everyone = { type: 'everyone' };
    filter = await idOf('/api/admin/policies', {
      kind: 'row_filter',
      principal: everyone,
      resource: orders,
      expression: "region = 'EU'",
    });
  });

  it('of a grant: who gains what, and writes nothing', async () => {
    const grant = [{ principal: { type: 'user', id: ids.bob }, resource: orders, privileges: ['SELECT', 'INSERT'] }];
    const { status, body } = await preview({ grant });
    expect(status).toBe(200);
    expect(body).toEqual({
      gains: [
        {
          principal: { type: 'user', id: ids.bob, name: 'bob' },
          resource: orders,
          privileges: ['SELECT', 'INSERT'],
          ...NO_RESTRICTIONS,
        },
      ],
      loses: [],
      unchanged: [],
      people_gaining: 1,
      people_losing: 0,
      people_unchanged: 0,
      catalogs: [],
      checks: [],
      warnings: [],
      guarantees: [],
      size: null,
      next: null,
    });
    const grants = await admin.get(`/api/admin/grants?principal=user:${ids.bob}`);
    expect(grants.body).toMatchObject({ items: [] });
  });

  it('of a revoke, a dropped filter and members together', async () => {
    const { body } = await preview({
      revoke: [read],
      grant: [{ principal: readers, resource: { catalog: 'sales', schema: 'eu' }, privileges: ['SELECT'] }],
      policies: { delete: [filter] },
      members: { add: [{ group_id: readers.id, user_id: ids.bob }] },
    });
    const alice = { type: 'user', id: ids.alice, name: 'alice' };
    expect(body).toMatchObject({
      gains: [
        { principal: alice, resource: orders, privileges: [], row_filters: ["region = 'EU'"] },
        { principal: { name: 'bob' }, resource: { catalog: 'sales', schema: 'eu' }, privileges: ['SELECT'] },
      ],
      loses: [{ principal: alice, resource: { catalog: 'sales' }, privileges: ['SELECT'] }],
      people_gaining: 2,
      people_losing: 1,
    });
  });

  it('names whom it gives nothing new, and how they have it, in the same pages', async () => {
    const draft = { grant: [{ principal: { type: 'everyone' }, resource: orders, privileges: ['SELECT'] }] };
    const first = await preview(draft, '?limit=1');
    const alice = {
      principal: { type: 'user', id: ids.alice, name: 'alice' },
      through: { group: { id: readers.id, name: 'readers' } },
    };
    expect(first.body).toMatchObject({
      gains: [{ principal: { name: 'admin' } }],
      unchanged: [],
      people_unchanged: 1,
      people_gaining: 2,
    });
    const second = await preview(draft, `?limit=1&after=${String(first.body?.['next'])}`);
    expect(second.body).toMatchObject({ gains: [], unchanged: [alice], people_unchanged: 1, people_gaining: 2 });
    const third = await preview(draft, `?limit=1&after=${String(second.body?.['next'])}`);
    expect(third.body).toMatchObject({ gains: [{ principal: { name: 'bob' } }], unchanged: [], next: null });
    const member = {
      members: { add: [{ group_id: await idOf('/api/admin/groups', { name: 'idle' }), user_id: ids.alice }] },
    };
    expect((await preview(member)).body).toMatchObject({ unchanged: [], people_gaining: 0 });
  });

  it('of a policy that replaces another one', async () => {
    const policy = {
      kind: 'row_filter',
      principal: { type: 'everyone' },
      resource: orders,
      expression: "region = 'DE'",
    };
    const { body } = await preview({ policies: { put: [{ id: filter, ...policy }] } });
    expect(body).toMatchObject({
      gains: [{ principal: { name: 'alice' }, row_filters: ["region = 'EU'"] }],
      loses: [{ principal: { name: 'alice' }, row_filters: ["region = 'DE'"] }],
    });
  });

  it('in pages, with the numbers of all of them', async () => {
    const tables = ['a', 'b', 'c'];
    const grant = tables.map((table) => ({
      principal: { type: 'user', id: ids.bob },
      resource: { catalog: 'hr', schema: 's', table },
      privileges: ['SELECT'],
    }));
    const first = await preview({ grant }, '?limit=2');
    const second = await preview({ grant }, `?limit=2&after=${String(first.body?.['next'])}`);
    const listed = [first, second].flatMap(({ body }) => body?.['gains'] as { resource: { table: string } }[]);
    expect(listed.map(({ resource }) => resource.table)).toEqual(tables);
    expect([first.body, second.body]).toMatchObject([{ people_gaining: 1 }, { people_gaining: 1, next: null }]);
  });

  it('says what the write would be answered with about an expression', async () => {
    const rule = { kind: 'row_filter', principal: { type: 'everyone' }, resource: orders };
    const put = [{ ...rule, expression: 'id = ANY (SELECT id FROM ref.eu.members)' }];
    const { body } = await preview({ policies: { put } });
    expect(body?.['warnings']).toEqual([expect.stringContaining('= ANY (SELECT …) makes the row filter a join')]);
  });

  it('says why the write would be refused', async () => {
    const mask = (expression: string) => ({
      kind: 'column_mask',
      principal: { type: 'everyone' },
      resource: { ...orders, column: 'ssn' },
      expression,
    });
    const { body } = await preview({ policies: { put: [mask('NULL'), mask("'x'")] } });
    expect(body?.['checks']).toEqual([
      expect.objectContaining({ code: 'mask_conflict' }),
      expect.objectContaining({ code: 'mask_conflict' }),
    ]);
  });

  it('says that the name of an engine principal is taken', async () => {
    const toEngine = (name: string) => ({
      principal: { type: 'engine', name },
      resource: orders,
      privileges: ['SELECT'],
    });
    await admin.post('/api/admin/grants', { ...toEngine('loader'), resource: { catalog: 'engines' } });
    for (const name of ['bob', 'BOB', 'Loader']) {
      const { body } = await preview({ grant: [toEngine(name)] });
      expect([name, body?.['checks']]).toEqual([
        name,
        expect.arrayContaining([expect.objectContaining({ code: 'name_taken' })]) as unknown,
      ]);
    }
  });

  it('names every policy whose fields do not match its kind', async () => {
    const everyone = { type: 'everyone' };
    const put = [
      { kind: 'deny', principal: everyone, resource: orders, expression: 'true' },
      { kind: 'row_filter', principal: everyone, resource: { ...orders, column: 'ssn' }, expression: 'true)' },
    ];
    const { status, body } = await preview({ policies: { put } });
    expect(status).toBe(400);
    expect(body?.['errors']).toMatchObject([
      { field: 'policies.put.0.expression' },
      { field: 'policies.put.1.resource.column' },
      { field: 'policies.put.1.expression' },
    ]);
  });

  it('refuses two changes of one policy', async () => {
    const put = ["region = 'DE'", "region = 'FR'"].map((expression) => ({
      id: filter,
      kind: 'row_filter',
      principal: { type: 'everyone' },
      resource: orders,
      expression,
    }));
    const { status, body } = await preview({ policies: { put, delete: [filter] } });
    expect(status).toBe(400);
    expect(body?.['errors']).toMatchObject([{ field: 'policies.put.0.id' }, { field: 'policies.delete.0' }]);
  });

  it('refuses to add and to remove one member', async () => {
    const member = { group_id: readers.id, user_id: ids.bob };
    const { status, body } = await preview({ members: { add: [member], remove: [member] } });
    expect([status, body?.['errors']]).toMatchObject([400, [{ field: 'members.remove.0' }]]);
  });

  it('names every part that does not exist or is closed', async () => {
    const grant = (principal: object, resource: object) => ({ principal, resource, privileges: ['SELECT'] });
    const { status, body } = await preview({
      grant: [
        grant({ type: 'user', id: 4711 }, orders),
        grant({ type: 'engine', name: 'service-account-grantline' }, orders),
        grant({ type: 'user', id: ids.bob }, { catalog: 'grantline' }),
      ],
      revoke: [4711],
      policies: {
        put: [{ id: 4711, kind: 'deny', principal: { type: 'group', id: 4711 }, resource: orders }],
        delete: [4711],
      },
      members: { add: [{ group_id: 4711, user_id: ids.bob }], remove: [{ group_id: readers.id, user_id: 4711 }] },
    });
    expect([status, body?.['code']]).toEqual([400, 'validation_failed']);
    const fields = (body?.['errors'] as { field: string }[]).map(({ field }) => field);
    expect(fields.sort()).toEqual([
      'grant.0.principal.id',
      'grant.1.principal.name',
      'grant.2.resource',
      'members.add.0.group_id',
      'members.remove.0.user_id',
      'policies.delete.0',
      'policies.put.0.id',
      'policies.put.0.principal.id',
      'revoke.0',
    ]);
  });

  it('says what the next publication then says', async () => {
    const draft = {
      grant: [
        {
          principal: { type: 'user', id: ids.bob },
          resource: { catalog: 'sales', schema: 'eu' },
          privileges: ['SELECT'],
        },
      ],
    };
    await admin.post('/api/admin/acl/sync', {});
    const expected = await preview(draft);
    await admin.post('/api/admin/grants/batch', draft);
    const published = await admin.post('/api/admin/acl/sync', {});
    const { version } = published.body?.['publication'] as { version: number };
    const { body } = await admin.get(`/api/admin/acl/publications/${version}`);
    const access = body?.['access'] as { gained: { what: string; people: string[] }[]; lost: unknown[] };

    expect(expected.body).toMatchObject({ gains: [{ principal: { name: 'bob' }, privileges: ['SELECT'] }], loses: [] });
    expect(access.lost).toEqual([]);
    expect(access.gained).toContainEqual({
      what: 'SELECT from sales.eu.(any other table)',
      people: ['bob'],
      others: 0,
    });
    const listed = await admin.get('/api/admin/acl/publications?limit=1');
    const { gained_in_all, lost_in_all, changed_pairs } = access as Record<string, unknown>;
    expect(listed.body).toMatchObject({ items: [{ version, gained_in_all, lost_in_all, changed_pairs }] });
    expect(gained_in_all).toBeGreaterThan(0);
  });
});
