import { DataSource } from 'typeorm';
import { AuditService } from '../../src/audit/audit.service.js';
import type { AuditEventName } from '../../src/audit/domain/audit-event.js';
import { type Answer, signIn } from '../support/service/api-client.js';
import { people, sharedAdministrator } from '../support/service/administrator.js';
import { duringTransaction } from '../support/database/concurrent-transaction.js';
import { sharedService } from '../support/service/service.js';

const GROUPS = '/api/admin/groups';

describe('groups', () => {
  const service = sharedService();
  const admin = sharedAdministrator(service);
  let ids: Record<'alice' | 'bob' | 'carol', number>;

  beforeAll(async () => {
    ids = await people(service, 'alice', 'bob', 'carol');
  });

  const create = async (name: string) => `${GROUPS}/${String((await admin.post(GROUPS, { name })).body?.['id'])}`;
  const idOf = (path: string) => Number(path.split('/').at(-1));
  const names = ({ body }: Answer) => (body?.['items'] as { name: string }[]).map(({ name }) => name);
  const audited = async (event: AuditEventName, path: string) => {
    const { items } = await service.app.get(AuditService).page({ event }, { limit: 200, after: null });
    return items.filter(({ subject }) => subject?.type === 'group' && subject.id === String(idOf(path)));
  };

  it('are made, shown, changed and deleted', async () => {
    const { status, headers, body } = await admin.post(GROUPS, { name: 'EU analysts', description: 'read Europe' });
    const path = headers.get('location') ?? '';
    expect(status).toBe(201);
    expect(body).toEqual({
      id: idOf(path),
      name: 'EU analysts',
      description: 'read Europe',
      source: 'local',
      external_id: null,
      member_count: 0,
      created_at: '2026-11-20T12:00:00.000Z',
    });

    expect((await admin.patch(path, { name: 'Europe', description: null })).body).toMatchObject({
      name: 'Europe',
      description: null,
    });
    expect((await admin.patch(path, {})).body).toMatchObject({ name: 'Europe' });
    expect(names(await admin.get(GROUPS))).toContain('Europe');

    expect((await admin.delete(path)).status).toBe(204);
    expect((await admin.delete(path)).status).toBe(204);
    expect((await admin.get(path)).status).toBe(404);
    expect((await admin.patch(path, { name: 'x' })).status).toBe(404);
    expect(names(await admin.get(GROUPS))).not.toContain('Europe');
    for (const event of ['group_created', 'group_deleted'] as const) expect(await audited(event, path)).toHaveLength(1);
  });

  it('have a name of their own, in any case, until they are deleted', async () => {
    const first = await create('Finance');
    const second = await create('Sales');

    expect((await admin.post(GROUPS, { name: 'FINANCE' })).body).toMatchObject({ status: 409, code: 'name_taken' });
    expect((await admin.patch(second, { name: 'finance' })).body).toMatchObject({ status: 409, code: 'name_taken' });
    expect((await admin.patch(first, { name: 'finance' })).body).toMatchObject({ name: 'finance' });

    await admin.delete(first);
    expect((await admin.post(GROUPS, { name: 'Finance' })).status).toBe(201);
  });

  it('add and remove members', async () => {
    const path = await create('members');
    for (const id of [ids.bob, ids.alice, ids.bob]) {
      expect((await admin.send('PUT', `${path}/members/${id}`)).status).toBe(204);
    }

    const first = await admin.get(`${path}/members?limit=1`);
    expect(names(first)).toEqual(['alice']);
    expect(first.body?.['items']).toEqual([
      { type: 'user', id: ids.alice, name: 'alice', is_active: true, added_at: '2026-11-20T12:00:00.000Z' },
    ]);
    expect(names(await admin.get(`${path}/members?after=${String(first.body?.['next'])}`))).toEqual(['bob']);
    expect((await admin.get(path)).body).toMatchObject({ member_count: 2 });

    expect((await admin.delete(`${path}/members/${ids.bob}`)).status).toBe(204);
    expect((await admin.delete(`${path}/members/${ids.bob}`)).status).toBe(204);
    expect(names(await admin.get(`${path}/members`))).toEqual(['alice']);
    expect(await audited('member_added', path)).toMatchObject([
      { details: { user_id: ids.alice } },
      { details: { user_id: ids.bob } },
    ]);
    expect(await audited('member_removed', path)).toMatchObject([{ actor: { username: 'admin' } }]);
  });

  it('have engine principals for members', async () => {
    const path = await create('pipelines');
    const [etl, bi] = ['engine:etl%2Fnightly', 'engine:bi'];
    for (const member of [etl, bi, String(ids.carol), etl]) {
      expect((await admin.send('PUT', `${path}/members/${member}`)).status).toBe(204);
    }

    const first = await admin.get(`${path}/members?limit=2`);
    expect(first.body?.['items']).toMatchObject([
      { type: 'engine', name: 'bi' },
      { type: 'user', id: ids.carol },
    ]);
    const rest = await admin.get(`${path}/members?limit=2&after=${String(first.body?.['next'])}`);
    expect(rest.body).toEqual({
      items: [{ type: 'engine', name: 'etl/nightly', added_at: '2026-11-20T12:00:00.000Z' }],
      next: null,
    });
    expect((await admin.get(path)).body).toMatchObject({ member_count: 3 });

    const principal = { type: 'group', id: idOf(path) };
    await admin.post('/api/admin/grants', { principal, resource: { catalog: 'piped' }, privileges: ['SELECT'] });
    const who = await admin.get('/api/admin/access/who?catalog=piped&privilege=SELECT');
    expect(who.body?.['items']).toMatchObject([
      { principal: { type: 'engine', name: 'bi' }, via: [{ group: { id: idOf(path) } }] },
      { principal: { type: 'user', name: 'carol' } },
      { principal: { type: 'engine', name: 'etl/nightly' } },
    ]);
    const effective = await admin.get('/api/admin/access/effective?principal=engine:bi');
    expect(effective.body?.['items']).toMatchObject([{ resource: { catalog: 'piped' } }]);
    const question = 'catalog=piped&privilege=SELECT&principal=engine:bi';
    expect((await admin.get(`/api/admin/access/explain?${question}`)).body).toMatchObject({ allowed: true });

    for (let i = 0; i < 2; i += 1) expect((await admin.delete(`${path}/members/${bi}`)).status).toBe(204);
    expect(names(await admin.get(`${path}/members`))).toEqual(['carol', 'etl/nightly']);
    expect((await admin.get(`/api/admin/access/explain?${question}`)).body).toMatchObject({ allowed: false });
    expect(await audited('member_added', path)).toMatchObject([
      { details: { user_id: ids.carol } },
      { details: { engine: 'bi' } },
      { details: { engine: 'etl/nightly' } },
    ]);
    expect(await audited('member_removed', path)).toMatchObject([{ details: { engine: 'bi' } }]);
  });

  it('claim the names of engine principals that are members, in one spelling', async () => {
    const path = await create('claims');
    const add = (member: string) => admin.send('PUT', `${path}/members/${member}`);

    expect((await add('engine:Alice')).body).toMatchObject({ status: 409, code: 'name_taken' });
    expect((await add('engine:loader')).status).toBe(204);
    expect((await add('engine:LOADER')).body).toMatchObject({ status: 409, code: 'name_taken' });
    const register = { username: 'Loader', email: 'l@example.org', password: 'a long password' };
    expect((await admin.post('/api/auth/register', register)).body).toMatchObject({ code: 'username_taken' });
    expect((await add('engine:service-account-grantline')).status).toBe(204);
  });

  it('refuse members that do not exist', async () => {
    const path = await create('empty');
    for (const malformed of ['engine:', 'user:1', '0', 'engine:a%0Ab', 'group:1']) {
      expect((await admin.send('PUT', `${path}/members/${malformed}`)).status).toBe(404);
    }
    for (const missing of [`${path}/members/999999`, `${GROUPS}/999999/members/${ids.alice}`]) {
      expect((await admin.send('PUT', missing)).status).toBe(404);
      expect((await admin.delete(missing)).status).toBe(404);
    }
    expect((await admin.get(`${GROUPS}/999999/members`)).status).toBe(404);
  });

  it('stay while a live grant or a policy names them', async () => {
    const resource = { catalog: 'sales' };
    const named = await create('named by a grant');
    const grant = { principal: { type: 'group', id: idOf(named) }, resource, privileges: ['SELECT'] };
    const { headers } = await admin.post('/api/admin/grants', grant);
    expect((await admin.delete(named)).body).toMatchObject({
      ...{ status: 409, code: 'group_in_use' },
      detail: `Named by grant ${String(headers.get('location')?.split('/').at(-1))}: revoke or change them first.`,
    });
    await admin.delete(headers.get('location') ?? '');
    expect((await admin.delete(named)).status).toBe(204);
    expect((await admin.post('/api/admin/grants', grant)).body).toMatchObject({
      errors: [{ field: 'principal.id', message: 'there is no such group' }],
    });
    expect((await admin.get(headers.get('location') ?? '')).body).toMatchObject({
      principal: { name: 'named by a grant' },
    });

    const outlasting = await create('outlasts its grant');
    const expires_at = new Date(service.clock.now().getTime() + 60_000).toISOString();
    const principal = { type: 'group', id: idOf(outlasting) };
    const expiring = await admin.post('/api/admin/grants', { principal, resource, privileges: ['SELECT'], expires_at });
    expect((await admin.delete(outlasting)).body).toMatchObject({ code: 'group_in_use' });
    service.clock.advance(60);
    expect((await admin.delete(outlasting)).status).toBe(204);
    expect((await admin.get(expiring.headers.get('location') ?? '')).body).toMatchObject({
      ...{ state: 'expired', principal: { name: 'outlasts its grant' } },
    });

    const excepted = await create('excepted by a policy');
    const except = [{ type: 'group', id: idOf(excepted) }];
    const policy = await admin.post('/api/admin/policies', {
      kind: 'deny',
      principal: { type: 'everyone' },
      except,
      resource,
    });
    expect((await admin.delete(excepted)).body).toMatchObject({ code: 'group_in_use' });
    await admin.delete(policy.headers.get('location') ?? '');
    expect((await admin.delete(excepted)).status).toBe(204);
  });

  it.each(['oidc', 'scim'])(
    'of the identity provider, by %s, have its name and members by it alone',
    async (source) => {
      const path = await create(`from ${source}`);
      await admin.send('PUT', `${path}/members/${ids.alice}`);
      await service.app.get(DataSource).query('UPDATE groups SET source = $2 WHERE id = $1', [idOf(path), source]);

      const refused = { status: 409, code: 'managed_elsewhere' };
      for (const [method, member] of [
        ...[['PUT', ids.bob] as const, ['PUT', 'engine:bi'] as const],
        ...[['DELETE', ids.alice] as const, ['DELETE', ids.bob] as const],
      ]) {
        expect((await admin.send(method, `${path}/members/${member}`)).body).toMatchObject(refused);
      }
      expect((await admin.patch(path, { name: 'ours' })).body).toMatchObject(refused);
      expect((await admin.patch(path, { description: 'theirs' })).body).toMatchObject({
        ...{ name: `from ${source}`, description: 'theirs', source, member_count: 1 },
      });
      const grant = {
        principal: { type: 'group', id: idOf(path) },
        resource: { catalog: source },
        privileges: ['SELECT'],
      };
      const given = await admin.post('/api/admin/grants', grant);
      expect(given.status).toBe(201);
      await admin.delete(given.headers.get('location') ?? '');
      expect((await admin.delete(path)).status).toBe(204);
    },
  );

  it('are not named by a grant that waited for their deletion', async () => {
    const path = await create('raced');
    const principal = { type: 'group', id: idOf(path) };

    const given = await duringTransaction(service.database.url, async (other) => {
      await other.query('UPDATE groups SET deleted_at = now() WHERE id = $1', [principal.id]);
      return () =>
        admin.post('/api/admin/grants', { principal, resource: { catalog: 'raced' }, privileges: ['SELECT'] });
    });

    expect(given.body).toMatchObject({ status: 400, errors: [{ field: 'principal.id' }] });
  });

  it.each([
    {},
    { name: '' },
    { name: 7 },
    { name: 'a\u0007' },
    { name: 'a\u202e' },
    { name: 'x'.repeat(129) },
    { name: 'a', members: [] },
  ])('are refused as %j', async (body) => {
    expect((await admin.post(GROUPS, body)).body).toMatchObject({ status: 400, code: 'validation_failed' });
  });

  it('are for administrators alone', async () => {
    const alice = admin.as((await signIn(admin, 'alice')).access_token);
    for (const path of [GROUPS, '/api/admin/grants', '/api/admin/policies']) {
      expect((await alice.get(path)).status).toBe(403);
      expect((await alice.post(path, {})).status).toBe(403);
    }
  });

  it('reach a catalog or schema, too, where they have something in it', async () => {
    const group = idOf(await create('crm'));
    await admin.send('PUT', `/api/admin/groups/${group}/members/${ids.carol}`);
    const [leads, all] = [{ catalog: 'crm', schema: 'us', table: 'leads' }, { catalog: 'crm' }];
    const grant = (principal: object, resource: object, privileges: string[]) =>
      admin.post('/api/admin/grants', { principal, resource, privileges });
    await grant({ type: 'group', id: group }, leads, ['SELECT', 'DELETE']);
    await grant({ type: 'engine', name: 'sales-bot' }, all, ['SELECT']);
    await grant({ type: 'engine', name: 'sales-bot' }, leads, ['INSERT']);
    const who = async (query: string) => (await admin.get(`/api/admin/access/who?catalog=crm${query}`)).body;

    const via = [{ group: { id: group }, level: 'table' }];
    const carol = { principal: { name: 'carol' }, privileges: [], inside_in_all: 1, via };
    const bot = { principal: { name: 'sales-bot' }, privileges: ['SELECT'] };
    const inside = (...privileges: string[]) => ({ inside: [{ resource: leads, privileges }] });
    expect(await who('')).toMatchObject({
      items: [
        { ...carol, ...inside('SELECT', 'DELETE') },
        { ...bot, ...inside('INSERT') },
      ],
      totals: { people: 0, engine_principals: 1, inside: { people: 1, engine_principals: 0 } },
    });
    expect(await who('&schema=us&privilege=DELETE')).toMatchObject({ items: [{ ...carol, ...inside('DELETE') }] });
    expect(await who('&privilege=SELECT')).toMatchObject({
      items: [
        { ...carol, ...inside('SELECT') },
        { ...bot, inside: [] },
      ],
    });
    expect((await who('&schema=us&table=leads'))?.['items']).toMatchObject([{ inside: [] }, { inside: [] }]);
  });
});
