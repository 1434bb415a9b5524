import { AuditService } from '../../src/audit/audit.service.js';
import { SizeForecast } from '../../src/grants/domain/admission-ports.js';
import { people, sharedAdministrator } from '../support/service/administrator.js';
import { sharedService } from '../support/service/service.js';

const GRANTS = '/api/admin/grants';
const ORDERS = { catalog: 'sales', schema: 'eu', table: 'orders' };

describe('grants', () => {
  const service = sharedService({ ACL_METADATA_CATALOG: 'grantline', ACL_SERVICE_ACCOUNTS: 'service-account-etl' });
  const admin = sharedAdministrator(service);
  let ids: Record<'alice' | 'bob', number>;

  beforeAll(async () => {
    ids = await people(service, 'alice', 'bob');
  });

  const toAlice = (overrides: object = {}) => ({
    principal: { type: 'user', id: ids.alice },
    resource: ORDERS,
    privileges: ['SELECT'],
    ...overrides,
  });
  const events = async (event: 'grant_created' | 'grant_revoked') =>
    (await service.app.get(AuditService).page({ event }, { limit: 200, after: null })).items;

  it('are created with all their fields, and shown with names', async () => {
    const privileges = ['INSERT', 'SELECT', 'INSERT'];
    const described = { expires_at: '2026-12-24T18:00:00+01:00', description: 'for the report' };
    const { status, body, headers } = await admin.post(GRANTS, toAlice({ privileges, ...described }));

    expect(status).toBe(201);
    expect(headers.get('location')).toBe(`${GRANTS}/${String(body?.['id'])}`);
    expect(body).toEqual({
      id: expect.any(Number) as number,
      principal: { type: 'user', id: ids.alice, name: 'alice' },
      resource: ORDERS,
      privileges: ['SELECT', 'INSERT'],
      state: 'live',
      expires_at: '2026-12-24T17:00:00.000Z',
      description: 'for the report',
      granted_by: { id: expect.any(Number) as number, name: 'admin' },
      granted_at: '2026-11-20T12:00:00.000Z',
      revoked_by: null,
      revoked_at: null,
    });
    expect((await admin.get(headers.get('location') ?? '')).body).toEqual(body);
  });

  it('say of a holder that no header carries that no SQL is run as it', async () => {
    const given = await Promise.all(
      ['Łódź etl', 'zoé.dupont'].map((name) => admin.post(GRANTS, toAlice({ principal: { type: 'engine', name } }))),
    );
    expect(given.map(({ status, body }) => [status, body?.['warnings']])).toEqual([
      [201, [expect.stringMatching(/^No SQL can be run as Łódź etl: .*Latin-1/)]],
      [201, undefined],
    ]);
  });

  it('are the same grant when their fields are equal, also when they race', async () => {
    const asked = toAlice({ resource: { catalog: 'races' } });
    const before = (await events('grant_created')).length;

    const answers = await Promise.all(Array.from({ length: 8 }, () => admin.post(GRANTS, asked)));

    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 200, 200, 201]);
    expect(new Set(answers.map(({ body }) => body?.['id'])).size).toBe(1);
    expect((await events('grant_created')).length).toBe(before + 1);
  });

  it('are revoked and stay to be seen; twice is as good as once', async () => {
    const { body } = await admin.post(GRANTS, toAlice({ resource: { catalog: 'once' } }));
    const path = `${GRANTS}/${String(body?.['id'])}`;

    expect((await admin.delete(path)).status).toBe(204);
    service.clock.advance(60);
    expect((await admin.delete(path)).status).toBe(204);

    const revoked = await admin.get(path);
    expect(revoked.body).toMatchObject({ state: 'revoked', revoked_by: { name: 'admin' } });
    expect(revoked.body?.['revoked_at']).toBe('2026-11-20T12:00:00.000Z');
    expect(await events('grant_revoked')).toMatchObject([
      {
        actor: { username: 'admin' },
        subject: { type: 'grant', id: String(body?.['id']) },
        details: { principal: `user:${ids.alice}`, resource: { catalog: 'once' }, privileges: ['SELECT'] },
      },
    ]);
    expect((await admin.post(GRANTS, toAlice({ resource: { catalog: 'once' } }))).status).toBe(201);
  });

  it('are listed by principal, node and state, page by page', async () => {
    const principal = { type: 'user', id: ids.bob };
    for (const table of ['a', 'b', 'c'])
      await admin.post(GRANTS, toAlice({ principal, resource: { catalog: 'paged', schema: 's', table } }));
    const soon = new Date(service.clock.now().getTime() + 1000).toISOString();
    await admin.post(GRANTS, toAlice({ principal, resource: { catalog: 'paged' }, expires_at: soon }));
    service.clock.advance(2);

    const tables = ({ body }: { body: Record<string, unknown> | null }) =>
      (body?.['items'] as { resource: { table?: string } }[]).map(({ resource }) => resource.table);
    const pages = `${GRANTS}?principal=user:${ids.bob}&catalog=paged&limit=2`;
    const first = await admin.get(pages);
    expect(tables(first)).toEqual(['a', 'b']);
    const second = await admin.get(`${pages}&after=${String(first.body?.['next'])}`);
    expect(tables(second)).toEqual(['c']);
    expect(second.body?.['next']).toBeNull();
    expect(tables(await admin.get(`${GRANTS}?catalog=paged&state=expired`))).toEqual([undefined]);
    expect(tables(await admin.get(`${GRANTS}?catalog=paged&schema=s&table=b&state=all`))).toEqual(['b']);
    expect(tables(await admin.get(`${GRANTS}?catalog=paged&state=revoked`))).toEqual([]);
  });

  it.each([
    ['the service’s own catalog', { resource: { catalog: 'grantline' } }, 'resource'],
    ['another schema of system', { resource: { catalog: 'system', schema: 'builtin' } }, 'resource'],
    ['an upper-case name', { resource: { catalog: 'Sales' } }, 'resource.catalog'],
    ['a name with a line break', { resource: { catalog: 'a\nb' } }, 'resource.catalog'],
    ['a name with a line separator', { resource: { catalog: 'a', schema: 'b\u2028c' } }, 'resource.schema'],
    ['a name with a joiner', { resource: { catalog: 'a', schema: 'b', table: 'c\u200d' } }, 'resource.table'],
    [
      'an engine principal that is displayed reversed',
      { principal: { type: 'engine', name: 'etl\u202e' } },
      'principal.name',
    ],
    ['an engine principal of two lines', { principal: { type: 'engine', name: 'a\u2028b' } }, 'principal.name'],
    ['an unassigned character', { principal: { type: 'engine', name: 'a\u0378' } }, 'principal.name'],
    ['an expiry past the year 9999 of UTC', { expires_at: '9999-12-31T23:59:59-01:00' }, 'expires_at'],
    ['a name of 129 characters', { resource: { catalog: '𝄞'.repeat(129) } }, 'resource.catalog'],
    ['a table without a schema', { resource: { catalog: 'a', table: 't' } }, 'resource.schema'],
    ['a schema that is null', { resource: { catalog: 'a', schema: null } }, 'resource.schema'],
    ['a column', { resource: { catalog: 'a', column: 'c' } }, 'resource.column'],
    ['no resource', { resource: null }, 'resource'],
    ['a list for a resource', { resource: [{ catalog: 'a' }] }, 'resource'],
    ['no privileges', { privileges: [] }, 'privileges'],
    ['an unknown privilege', { privileges: ['SELECT', 'select'] }, 'privileges'],
    ['an expiry in the past', { expires_at: '2026-11-20T11:59:59Z' }, 'expires_at'],
    ['a day that does not exist', { expires_at: '2027-02-30T00:00:00Z' }, 'expires_at'],
    ['a moment without its zone', { expires_at: '2027-02-20T00:00:00' }, 'expires_at'],
    ['an unknown field', { expires: null }, 'expires'],
    ['a description of 1001 characters', { description: 'x'.repeat(1001) }, 'description'],
    ['NUL in a description', { description: 'a\0b' }, 'description'],
    ['an unknown account', { principal: { type: 'user', id: 999_999 } }, 'principal.id'],
    ['no such group', { principal: { type: 'group', id: 999_999 } }, 'principal.id'],
    ['everyone with an id', { principal: { type: 'everyone', id: 1 } }, 'principal.id'],
    ['nobody', { principal: { type: 'nobody' } }, 'principal.type'],
    ['a user by name', { principal: { type: 'user', name: 'alice' } }, 'principal.id'],
    ['an engine principal with an id', { principal: { type: 'engine', name: 'etl', id: 1 } }, 'principal.id'],
    ['a service account', { principal: { type: 'engine', name: 'service-account-etl' } }, 'principal.name'],
  ])('are refused for %s', async (_, overrides, field) => {
    const { status, body } = await admin.post(GRANTS, toAlice(overrides));

    expect(status).toBe(400);
    expect(body).toMatchObject({ code: 'validation_failed' });
    expect((body?.['errors'] as { field: string }[]).map((error) => error.field)).toContain(field);
  });

  it('name the privileges of the node where one is unknown or misplaced', async () => {
    const messageOf = async (overrides: object) => {
      const { body } = await admin.post(GRANTS, toAlice(overrides));
      return (body?.['errors'] as { message: string }[]).map(({ message }) => message);
    };
    const acting = { as: { type: 'user', id: ids.bob } };
    const ofEverything = /must be among SELECT, INSERT, .*, CALL_PROCEDURE/;

    expect(await messageOf({ privileges: ['READ'], resource: acting })).toEqual(['must be among IMPERSONATE']);
    expect(await messageOf({ privileges: ['READ'], resource: {} })).toEqual([expect.stringMatching(ofEverything)]);
    expect((await messageOf({ privileges: ['IMPERSONATE'], resource: {} }))[0]).toMatch(
      /^on everything must be among SELECT, .*, CALL_PROCEDURE, not IMPERSONATE$/,
    );
  });

  it('are given to everyone, once, and listed by it', async () => {
    const asked = toAlice({ principal: { type: 'everyone' }, resource: { catalog: 'open' } });

    const given = await admin.post(GRANTS, asked);
    expect(given).toMatchObject({ status: 201, body: { principal: { type: 'everyone' } } });
    expect(await admin.post(GRANTS, asked)).toMatchObject({ status: 200, body: { id: given.body?.['id'] } });
    expect((await admin.post(GRANTS, { ...asked, resource: { catalog: 'open', schema: 's' } })).status).toBe(201);
    const ofEveryone = await admin.get(`${GRANTS}?principal=everyone&catalog=open`);
    expect(ofEveryone.body?.['items']).toMatchObject([
      { resource: { catalog: 'open' } },
      { resource: { schema: 's' } },
    ]);
    expect((await admin.get(`${GRANTS}?principal=everybody`)).body).toMatchObject({ errors: [{ field: 'principal' }] });
    expect(await events('grant_created')).toContainEqual(
      expect.objectContaining({ details: expect.objectContaining({ principal: 'everyone' }) as object }),
    );

    const bobs = await admin.get(`/api/admin/access/effective?principal=user:${ids.bob}`);
    expect(bobs.body?.['items']).toContainEqual(
      expect.objectContaining({ resource: { catalog: 'open' }, privileges: ['SELECT'] }),
    );
    expect((await admin.delete(`${GRANTS}/${String(given.body?.['id'])}`)).status).toBe(204);
  });

  it('never let an engine principal have the name of an account, nor the reverse', async () => {
    const toEngine = (name: string) => admin.post(GRANTS, toAlice({ principal: { type: 'engine', name } }));

    expect((await toEngine('ALICE')).body).toMatchObject({ status: 409, code: 'name_taken' });
    expect((await toEngine('nightly_load')).status).toBe(201);
    const register = { username: 'Nightly_Load', email: 'n@example.org', password: 'a long password' };
    expect((await admin.post('/api/auth/register', register)).body).toMatchObject({ code: 'username_taken' });
  });

  it('name an engine principal in one spelling, which can change while nothing names it', async () => {
    const resource = { catalog: 'spelled' };
    const toEngine = (name: string) => admin.post(GRANTS, toAlice({ principal: { type: 'engine', name }, resource }));
    const first = await toEngine('Dash');
    const path = `${GRANTS}/${String(first.body?.['id'])}`;
    expect((await toEngine('dash')).body).toMatchObject({
      code: 'name_taken',
      detail: expect.stringContaining('The name Dash belongs to an engine principal in another spelling') as string,
    });
    await admin.delete(path);
    const draft = { grant: [toAlice({ principal: { type: 'engine', name: 'dash' }, resource })] };
    expect((await admin.post('/api/admin/access/preview', draft)).body).toMatchObject({ checks: [] });

    expect((await toEngine('dash')).status).toBe(201);
    expect((await admin.get(path)).body).toMatchObject({ state: 'revoked', principal: { name: 'dash' } });
    expect((await toEngine('Dash')).body).toMatchObject({ code: 'name_taken' });
    expect((await toEngine('SERVICE-ACCOUNT-ETL')).body).toMatchObject({ code: 'name_taken' });
  });

  it('leave an engine principal its spelling while anything names it', async () => {
    const { body: group } = await admin.post('/api/admin/groups', { name: 'dashboards' });
    const member = `/api/admin/groups/${String(group?.['id'])}/members/engine:Report`;
    const engine = { type: 'engine', name: 'Report' };
    const deny = { kind: 'deny', resource: ORDERS };
    const scope = { resource: ORDERS, privileges: ['SELECT'] };
    const guarantee = { name: 'report', mode: 'reported', kind: 'always', principal: engine, ...scope };
    const acting = {
      principal: { type: 'engine', name: 'portal' },
      resource: { as: engine },
      privileges: ['IMPERSONATE'],
    };
    const uses: [string, object][] = [
      [GRANTS, acting],
      ['/api/admin/policies', { ...deny, principal: engine }],
      ['/api/admin/policies', { ...deny, principal: { type: 'everyone' }, except: [engine] }],
      ['/api/admin/policies', { ...deny, principal: { type: 'everyone' }, resource: { queries: engine } }],
      ['/api/admin/guarantees', guarantee],
    ];
    const respelled = toAlice({ principal: { type: 'engine', name: 'REPORT' } });
    const names = async () => (await admin.post(GRANTS, respelled)).body?.['code'];

    expect((await admin.send('PUT', member)).status).toBe(204);
    expect(await names()).toBe('name_taken');
    await admin.delete(member);
    for (const [path, body] of uses) {
      const { status, headers } = await admin.post(path, body);
      expect([status, await names()]).toEqual([201, 'name_taken']);
      await admin.delete(headers.get('location') ?? '');
    }
    expect(await names()).toBeUndefined();
  });

  it('to one engine principal in two spellings at once are given in one alone', async () => {
    const to = (name: string) => admin.post(GRANTS, toAlice({ principal: { type: 'engine', name } }));
    for (let round = 0; round < 10; round += 1) {
      const former = await to(`Race-${round}`);
      await admin.delete(`${GRANTS}/${String(former.body?.['id'])}`);
      const given = await Promise.all([to(`Race-${round}`), to(`race-${round}`)]);
      expect(given.map(({ status }) => status).sort()).toEqual([201, 409]);
    }
  });

  it('come and go together in a batch', async () => {
    const { body: old } = await admin.post(GRANTS, toAlice({ resource: { catalog: 'batch' } }));
    const grant = [
      toAlice({ resource: { catalog: 'batch', schema: 's' } }),
      toAlice({ resource: { catalog: 'races' } }),
    ];

    const { status, body } = await admin.post(`${GRANTS}/batch`, { grant, revoke: [old?.['id']] });

    expect(status).toBe(200);
    expect(body).toMatchObject({
      granted: [{ resource: { schema: 's' } }, { resource: { catalog: 'races' } }],
      revoked: [{ id: old?.['id'], state: 'revoked' }],
    });
  });

  it('stay where a batch gives again what it revokes', async () => {
    const again = toAlice({ resource: { catalog: 'again' } });
    const { body: old } = await admin.post(GRANTS, again);

    const { body } = await admin.post(`${GRANTS}/batch`, { grant: [again], revoke: [old?.['id']] });

    expect(body).toMatchObject({ granted: [{ state: 'live' }], revoked: [{ id: old?.['id'], state: 'revoked' }] });
    const { body: live } = await admin.get(`${GRANTS}?catalog=again`);
    expect(live?.['items']).toMatchObject([{ resource: { catalog: 'again' }, state: 'live' }]);
  });

  it('do neither when one part of a batch is wrong', async () => {
    const { body: old } = await admin.post(GRANTS, toAlice({ resource: { catalog: 'whole' } }));
    const grant = [
      toAlice({ resource: { catalog: 'whole', schema: 's' } }),
      toAlice({ resource: { catalog: 'grantline' } }),
    ];

    expect((await admin.post(`${GRANTS}/batch`, { grant, revoke: [old?.['id']] })).body).toMatchObject({
      status: 400,
      errors: [{ field: 'grant.1.resource' }],
    });
    expect(
      (await admin.post(`${GRANTS}/batch`, { grant: grant.slice(0, 1), revoke: [old?.['id'], 999_999] })).body,
    ).toMatchObject({ status: 400, errors: [{ field: 'revoke.1' }] });

    expect((await admin.get(`${GRANTS}?catalog=whole&state=all`)).body?.['items']).toMatchObject([{ state: 'live' }]);
    const created = await events('grant_created');
    expect(created.filter(({ details }) => JSON.stringify(details).includes('"whole"'))).toHaveLength(1);
  });

  it('are not there: 404, for whatever is no id', async () => {
    for (const id of ['999999', '0', '-1', 'abc', '1.0', '99999999999']) {
      expect([id, (await admin.get(`${GRANTS}/${id}`)).status]).toEqual([id, 404]);
      expect([id, (await admin.delete(`${GRANTS}/${id}`)).status]).toEqual([id, 404]);
    }
  });

  it.each([
    'limit=0',
    'limit=201',
    'limit=x',
    'after=x',
    'state=dead',
    'principal=alice',
    'catalog=a&catalog=b',
    'name=1',
  ])('refuse the query %s', async (query) => {
    expect((await admin.get(`${GRANTS}?${query}`)).body).toMatchObject({ status: 400, code: 'validation_failed' });
  });

  it('warn of privileges that a restriction takes', async () => {
    const resource = { catalog: 'sales', schema: 'eu', table: 'masked' };
    const mask = { kind: 'column_mask', principal: { type: 'everyone' }, resource: { ...resource, column: 'iban' } };
    const { body: policy } = await admin.post('/api/admin/policies', { ...mask, expression: 'NULL' });
    const { body } = await admin.post(GRANTS, toAlice({ resource, privileges: ['SELECT', 'INSERT', 'UPDATE'] }));

    const message = `INSERT, UPDATE on sales.eu.masked has no effect: policy ${String(policy?.['id'])} would not hold for it`;
    expect(body?.['warnings']).toEqual([message]);
  });

  it('are refused when the rules would not fit their target, with a warning before', async () => {
    const size = service.app.get(SizeForecast);
    const forecast = size.forecast.bind(size);
    const asked = toAlice({ resource: { catalog: 'large' } });
    size.forecast = () => Promise.resolve({ fits: false, message: 'no room for that' });
    const refused = await admin.post(GRANTS, asked);
    expect(refused.body).toMatchObject({ status: 409, code: 'rules_too_large', detail: 'no room for that' });
    expect((await admin.get(`${GRANTS}?catalog=large`)).body).toMatchObject({ items: [] });
    size.forecast = () => Promise.resolve({ fits: true, message: 'little room is left' });
    expect((await admin.post(GRANTS, asked)).body).toMatchObject({ warnings: ['little room is left'] });
    size.forecast = forecast;
  });
});
