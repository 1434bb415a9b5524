import { administrator, people } from '../support/service/administrator.js';
import { ApiClient, signIn } from '../support/service/api-client.js';
import { startService, type TestService } from '../support/service/service.js';

const UNTIL = '2199-12-31T00:00:00.000Z';

describe('answers about access', () => {
  let service: TestService;
  let admin: ApiClient;
  let alice: ApiClient;
  let ids: Record<'alice' | 'bob', number>;
  let readers: { type: 'group'; id: number };
  const made: Record<'read' | 'write' | 'filter' | 'deny' | 'hidden', number> = {
    read: 0,
    write: 0,
    filter: 0,
    deny: 0,
    hidden: 0,
  };
  const orders = { catalog: 'sales', schema: 'eu', table: 'orders' };
  const idOf = async (path: string, body: object) => Number((await admin.post(path, body)).body?.['id']);

  beforeAll(async () => {
    service = await startService({
      ACL_METADATA_CATALOG: 'grantline',
      ACL_WRITABLE_CATALOGS: 'lake',
      ACL_EXTERNAL_TABLE_CATALOGS: 'files',
      SERVICE_QUERY_USER: 'service-account-grantline',
    });
    admin = await administrator(service);
    ids = await people(service, 'alice', 'bob');
    const client = new ApiClient(service.url);
    alice = client.as((await signIn(client, 'alice')).access_token);
    readers = { type: 'group', id: await idOf('/api/admin/groups', { name: 'readers' }) };
    for (const id of Object.values(ids)) await admin.send('PUT', `/api/admin/groups/${readers.id}/members/${id}`);
    const everyone = { type: 'everyone' };
    const grant = (principal: object, resource: object, privileges: string[], expires_at: string | null = null) =>
      idOf('/api/admin/grants', { principal, resource, privileges, expires_at });
    const policy = (body: object) => idOf('/api/admin/policies', { principal: everyone, ...body });
    made.read = await grant(readers, { catalog: 'sales' }, ['SELECT']);
    made.write = await grant({ type: 'user', id: ids.alice }, orders, ['INSERT', 'DELETE'], UNTIL);
    made.filter = await policy({
      kind: 'row_filter',
      resource: { catalog: 'sales', schema: 'eu' },
      expression: "region = 'EU'",
    });
    made.hidden = await policy({ kind: 'hidden_column', resource: { ...orders, column: 'ssn' } });
    made.deny = await policy({ kind: 'deny', resource: orders, privileges: ['DELETE'] });
    await admin.post('/api/admin/acl/sync', {});
  });
  afterAll(() => service.stop());

  const READ = { through: { group: { id: expect.any(Number) as number, name: 'readers' } } };

  it('effective: every node with an entry, and the grants behind it', async () => {
    const { status, body } = await admin.get(`/api/admin/access/effective?principal=user:${ids.alice}`);
    expect(status).toBe(200);
    const filtered = { row_filters: ["region = 'EU'"], hidden_columns: [], masked_columns: [] };
    const read = { grant_id: made.read, ...READ };
    expect(body).toEqual({
      items: [
        {
          resource: { catalog: 'sales' },
          privileges: ['SELECT'],
          ...{ row_filters: [], hidden_columns: [], masked_columns: [] },
          origins: [{ ...read, inherited_from: null, expires_at: null }],
        },
        {
          resource: { catalog: 'sales', schema: 'eu' },
          privileges: ['SELECT'],
          ...filtered,
          origins: [{ ...read, inherited_from: { catalog: 'sales' }, expires_at: null }],
        },
        {
          resource: orders,
          privileges: ['SELECT', 'INSERT'],
          ...{ ...filtered, hidden_columns: ['$bucket', '$partition', '$path', 'ssn'] },
          origins: [
            { ...read, inherited_from: { catalog: 'sales' }, expires_at: null },
            { grant_id: made.write, through: 'directly', inherited_from: null, expires_at: UNTIL },
          ],
        },
      ],
      next: null,
    });
    expect((await alice.get('/api/access/effective')).body).toEqual(body);
  });

  it('effective: in pages', async () => {
    const first = await alice.get('/api/access/effective?limit=2');
    expect(first.body?.['items']).toHaveLength(2);
    const rest = await alice.get(`/api/access/effective?limit=2&after=${String(first.body?.['next'])}`);
    expect(rest.body).toMatchObject({ items: [{ resource: orders }], next: null });
  });

  it('effective: service accounts by catalog, groups as a member without other groups', async () => {
    const service = await admin.get('/api/admin/access/effective?principal=engine:service-account-grantline');
    expect(service.body).toMatchObject({ items: [{ resource: { catalog: 'lake' }, origins: [] }] });
    const group = await admin.get(`/api/admin/access/effective?principal=group:${readers.id}`);
    expect(group.body).toMatchObject({ items: [{ origins: [{ through: 'directly' }] }, {}, {}] });
  });

  it('explain: the rule, the entries behind it, and what would turn it round', async () => {
    const about = (query: string) => admin.get(`/api/admin/access/explain?principal=user:${ids.alice}&${query}`);
    const node = 'catalog=sales&schema=eu&table=orders';
    const read = await about(`${node}&privilege=SELECT`);
    expect(read.body).toMatchObject({
      allowed: true,
      rule: { section: 'tables', text: expect.stringContaining('"alice"') as string },
      grants: [made.read],
      policies: [made.filter, made.hidden],
      smallest_change: {
        steps: [{ kind: 'deny', principal: { name: 'alice' }, resource: orders, privileges: ['SELECT'] }],
      },
      published: { version: 1, allowed: true },
    });
    expect((await about(`${node}&privilege=DELETE`)).body).toMatchObject({
      allowed: false,
      grants: [made.write],
      policies: [made.filter, made.deny],
      smallest_change: {
        steps: [made.filter, made.deny].map((policy_id) => ({
          kind: 'except',
          policy_id,
          principal: { id: ids.alice },
        })),
      },
    });
    const companion = await about('catalog=sales&schema=eu&table=orders%24files&privilege=SELECT');
    expect(companion.body).toMatchObject({
      allowed: false,
      restrictions: [
        { policy_id: made.filter, kind: 'row_filter', resource: { catalog: 'sales', schema: 'eu' } },
        {
          policy_id: made.hidden,
          kind: 'hidden_column',
          resource: { ...orders, column: expect.any(String) as string },
        },
      ],
    });
    expect((await about('catalog=hr&privilege=UPDATE')).body).toMatchObject({
      allowed: false,
      grants: [],
      policies: [],
      smallest_change: { steps: [{ kind: 'grant', resource: { catalog: 'hr' }, privileges: ['UPDATE'] }] },
    });
    expect((await about('catalog=grantline&privilege=SELECT')).body).toMatchObject({ smallest_change: null });
  });

  it('explain: every way or, where it is refused, where each breaks', async () => {
    const about = async (name: 'alice' | 'bob', query: string) =>
      (await admin.get(`/api/admin/access/explain?principal=user:${ids[name]}&${query}`)).body;
    const node = 'catalog=sales&schema=eu&table=orders';
    const way = { group: null, is_for_everyone: false, grant_id: null, node: orders };
    const readers_ = { ...way, group: { id: readers.id, name: 'readers' } };
    expect((await about('bob', `${node}&privilege=SELECT`))?.['ways']).toEqual([
      { ...readers_, grant_id: made.read, node: { catalog: 'sales' }, ends_at: null },
    ]);
    expect((await about('alice', `${node}&privilege=DELETE`))?.['ways']).toEqual([
      { ...way, grant_id: made.write, ends_at: { kind: 'denied', policies: [made.filter, made.deny] } },
      { ...readers_, ends_at: { kind: 'no_grant' } },
    ]);
    const writers = await idOf('/api/admin/groups', { name: 'writers' });
    const to = (principal: object, expires_at: string | null) =>
      idOf('/api/admin/grants', { principal, resource: { catalog: 'sales' }, privileges: ['UPDATE'], expires_at });
    const wide = await to({ type: 'group', id: writers }, null);
    const past = new Date(service.clock.now().getTime() + 1_000);
    const ended = await to({ type: 'user', id: ids.bob }, past.toISOString());
    service.clock.advance(2);
    const refused = await about('bob', `${node}&privilege=UPDATE`);
    expect(refused).toMatchObject({
      ways: [
        {
          ...way,
          grant_id: ended,
          node: { catalog: 'sales' },
          ends_at: { kind: 'expired', expired_at: past.toISOString() },
        },
        { ...readers_, ends_at: { kind: 'no_grant' } },
        { group: { id: writers, name: 'writers' }, grant_id: wide, ends_at: { kind: 'not_a_member' } },
      ],
      ways_in_all: 3,
    });
    const own = await alice.get(`/api/access/explain?${node}&privilege=UPDATE`);
    expect(own.body).toMatchObject({ allowed: false, ways_in_all: 2 });
    expect(JSON.stringify(own.body)).not.toContain('writers');
    await admin.send('PATCH', `/api/admin/users/${ids.bob}`, { is_active: false });
    expect((await about('bob', `${node}&privilege=SELECT`))?.['ways']).toMatchObject([
      { ...way, ends_at: { kind: 'no_grant' } },
      { ...readers_, grant_id: made.read, node: { catalog: 'sales' }, ends_at: { kind: 'inactive' } },
    ]);
    await admin.send('PATCH', `/api/admin/users/${ids.bob}`, { is_active: true });
    await admin.delete(`/api/admin/grants/${wide}`);
  });

  it('explain: shows nobody the names of others', async () => {
    const { body } = await alice.get('/api/access/explain?catalog=sales&privilege=SELECT');
    expect(body).toMatchObject({ allowed: true, rule: { section: 'tables', text: null } });
    expect(JSON.stringify(body)).not.toContain('bob');
  });

  it('explain: no way for an account to act as others', async () => {
    const question = `explain?as=user:${ids.bob}&privilege=IMPERSONATE`;
    const noWay = { allowed: false, ways: [], ways_in_all: 0, smallest_change: null };
    expect((await alice.get(`/api/access/${question}`)).body).toMatchObject(noWay);
    const ofAlice = await admin.get(`/api/admin/access/${question}&principal=user:${ids.alice}`);
    expect(ofAlice.body).toMatchObject(noWay);
    await admin.send('PUT', `/api/admin/groups/${readers.id}/members/engine:dash`);
    const ofDash = await admin.get(`/api/admin/access/${question}&principal=engine:dash`);
    expect(ofDash.body?.['ways']).toMatchObject([{ group: null, ends_at: { kind: 'no_grant' } }]);
    await admin.delete(`/api/admin/groups/${readers.id}/members/engine:dash`);
  });

  it('explain: says when the published rules answer otherwise', async () => {
    const grant = { principal: { type: 'user', id: ids.bob }, resource: { catalog: 'late' }, privileges: ['SELECT'] };
    const late = await idOf('/api/admin/grants', grant);
    const { body } = await admin.get(
      `/api/admin/access/explain?principal=user:${ids.bob}&catalog=late&privilege=SELECT`,
    );
    expect(body).toMatchObject({
      allowed: true,
      published: { version: 1, allowed: false, is_same: false },
      smallest_change: { steps: [{ kind: 'revoke', grant_id: late }] },
    });
    await admin.delete(`/api/admin/grants/${late}`);
  });

  it('who: everybody who may, by name, with the grants behind it', async () => {
    const { body } = await admin.get('/api/admin/access/who?catalog=sales&schema=eu&table=orders');
    const ofGroup = { group: { id: readers.id, name: 'readers' }, is_for_everyone: false };
    const via = { grant_id: made.read, ...ofGroup, level: 'catalog', expires_at: null };
    expect(body).toMatchObject({
      items: [
        {
          principal: { type: 'user', name: 'alice' },
          privileges: ['SELECT', 'INSERT'],
          via: [via, { grant_id: made.write, group: null, is_for_everyone: false, level: 'table', expires_at: UNTIL }],
        },
        { principal: { type: 'user', name: 'bob' }, privileges: ['SELECT'], via: [via] },
      ],
      totals: {
        people: 2,
        engine_principals: 0,
        ways: [
          { group: { id: readers.id, name: 'readers' }, people: 2, engine_principals: 0 },
          { group: null, people: 1, engine_principals: 0 },
        ],
      },
      next: null,
    });
    const write = await admin.get(
      '/api/admin/access/who?catalog=sales&schema=eu&table=orders&privilege=INSERT&limit=1',
    );
    expect(write.body).toMatchObject({ items: [{ principal: { name: 'alice' } }], next: null });
    const lake = await admin.get('/api/admin/access/who?catalog=lake');
    expect(lake.body).toMatchObject({
      items: [{ principal: { type: 'engine', name: 'service-account-grantline' }, via: [] }],
      totals: { people: 0, engine_principals: 1, ways: [{ group: null, engine_principals: 1 }] },
    });
  });

  it.each([
    { name: 'ownership', resource: { catalog: 'files', schema: 's1' }, privilege: 'OWNERSHIP', question: '&table=t' },
    {
      name: 'a routine right',
      resource: { catalog: 'calc', schema: 's1' },
      privilege: 'EXECUTE_FUNCTION',
      question: '',
    },
  ])('who: does not list, and a grant warns of, $name that a policy elsewhere takes away', async (example) => {
    const { resource, privilege, question } = example;
    const grant = { principal: { type: 'user', id: ids.alice }, resource, privileges: [privilege] };
    const who = `/api/admin/access/who?catalog=${resource.catalog}&schema=s1${question}&privilege=${privilege}`;
    const free = await admin.post('/api/admin/grants', grant);
    expect([free.body?.['warnings'], (await admin.get(who)).body]).toMatchObject([
      undefined,
      { items: [{ principal: { name: 'alice' } }] },
    ]);
    await admin.delete(`/api/admin/grants/${String(free.body?.['id'])}`);

    const secret = { catalog: resource.catalog, schema: 's2', table: 'secret' };
    const filter = { kind: 'row_filter', principal: { type: 'everyone' }, resource: secret, expression: 'a = 1' };
    const policy = await idOf('/api/admin/policies', filter);
    const { body } = await admin.post('/api/admin/grants', grant);
    const where = `${privilege} on ${resource.catalog}.s1`;
    expect(body?.['warnings']).toEqual([`${where} has no effect: policy ${policy} would not hold for it`]);
    expect((await admin.get(who)).body).toMatchObject({ items: [], totals: { people: 0 } });
    await admin.delete(`/api/admin/grants/${String(body?.['id'])}`);
    await admin.delete(`/api/admin/policies/${policy}`);
  });

  it('who: in pages', async () => {
    const first = await admin.get('/api/admin/access/who?catalog=sales&limit=1');
    const second = await admin.get(`/api/admin/access/who?catalog=sales&limit=1&after=${String(first.body?.['next'])}`);
    expect([first.body, second.body]).toMatchObject([
      { items: [{ principal: { name: 'alice' } }], totals: { people: 2 } },
      { items: [{ principal: { name: 'bob' } }], totals: { people: 2 }, next: null },
    ]);
  });

  it.each([
    ['/api/admin/access/effective', 'principal'],
    ['/api/admin/access/effective?principal=alice', 'principal'],
    ['/api/admin/access/effective?principal=user:1&after=x', 'after'],
    ['/api/admin/access/explain?principal=user:1&catalog=sales', 'privilege'],
    ['/api/admin/access/explain?principal=user:1&privilege=SELECT&schema=a', 'catalog'],
    ['/api/admin/access/explain?principal=user:1&privilege=SELECT&catalog=a&schema=b&routine=c', 'privilege'],
    ['/api/admin/access/explain?principal=user:1&privilege=EXECUTE_FUNCTION&catalog=a&schema=b&table=c', 'privilege'],
    ['/api/admin/access/explain?principal=user:1&privilege=SELECT&catalog=a&engine=true', 'catalog'],
    ['/api/admin/access/explain?principal=user:1&privilege=SELECT&engine=yes', 'engine'],
    ['/api/admin/access/who?catalog=a&schema=b&table=c&routine=d', 'routine'],
    ['/api/admin/access/who?as=user:x', 'as'],
    ['/api/admin/access/explain?principal=user:1&privilege=SELECT&catalog=a&table=b', 'schema'],
    ['/api/admin/access/explain?principal=user:1&privilege=SELECT&catalog=a&schema=information_schema', 'schema'],
    ['/api/admin/access/who?catalog=Sales', 'catalog'],
    ['/api/admin/access/who?catalog=sales&schema=information_schema&table=tables', 'schema'],
    ['/api/admin/access/who?catalog=sales&privilege=READ', 'privilege'],
    ['/api/admin/access/who?catalog=sales&limit=1001', 'limit'],
    ['/api/admin/access/who?catalog=sales&catalog=hr', 'catalog'],
  ])('refuses %s', async (path, field) => {
    const { status, body } = await admin.get(path);
    expect([status, body?.['code']]).toEqual([400, 'validation_failed']);
    expect(body?.['errors']).toEqual([expect.objectContaining({ field })]);
  });

  it('knows no such account or group', async () => {
    for (const principal of ['user:4711', 'group:4711']) {
      expect((await admin.get(`/api/admin/access/effective?principal=${principal}`)).status).toBe(404);
      expect(
        (await admin.get(`/api/admin/access/explain?principal=${principal}&catalog=a&privilege=SELECT`)).status,
      ).toBe(404);
    }
  });

  it('knows no engine principal with the name of an account, and proposes no grant to one in another spelling', async () => {
    expect((await admin.get('/api/admin/access/effective?principal=engine:alice')).status).toBe(404);
    const question = 'catalog=sales&privilege=SELECT';
    const explained = (name: string) => admin.get(`/api/admin/access/explain?principal=engine:${name}&${question}`);
    expect((await explained('alice')).status).toBe(404);
    expect((await explained('ALICE')).body).toMatchObject({ allowed: false, smallest_change: null });
    expect((await explained('loader')).body).toMatchObject({ smallest_change: { steps: [{ kind: 'grant' }] } });
  });

  it('is for administrators where it is about others', async () => {
    for (const path of [
      'effective?principal=user:1',
      'explain?principal=user:1&catalog=a&privilege=SELECT',
      'who?catalog=a',
    ]) {
      expect((await alice.get(`/api/admin/access/${path}`)).status).toBe(403);
    }
  });
});
