import { people, sharedAdministrator } from '../support/service/administrator.js';
import { apiToken } from '../support/service/api-tokens.js';
import { ApiClient } from '../support/service/api-client.js';
import { sharedService } from '../support/service/service.js';

const FILE = {
  version: 1,
  users: [{ name: 'alice' }],
  groups: [{ name: 'readers', members: ['alice'] }],
  grants: [
    { principal: { type: 'group', name: 'readers' }, resource: { catalog: 'sales' }, privileges: ['SELECT'] },
    { principal: { type: 'user', name: 'alice' }, resource: { catalog: 'hr' }, privileges: ['SELECT'] },
  ],
  policies: [],
};

describe('recorded access as one snapshot, by an API token', () => {
  const service = sharedService();
  const boss = sharedAdministrator(service);
  let program: ApiClient;
  let tokenId: string;
  beforeAll(async () => {
    await people(service, 'alice');
    const { id, token } = await apiToken(boss, service.clock.now(), 'admin.read', 'admin.write');
    [program, tokenId] = [boss.as(token), id];
  });
  const apply = async (snapshot: unknown, options: object = {}) =>
    (await program.post('/api/admin/snapshot', { snapshot, ...options })).body;

  it('is planned, applied, exported, and pruned', async () => {
    expect(await apply(FILE, { dry_run: true })).toMatchObject({ outcome: 'planned', problems: [] });
    expect((await program.get('/api/admin/snapshot')).body).toMatchObject({ version: 1, grants: [] });

    expect(await apply(FILE)).toMatchObject({
      outcome: 'applied',
      plan: expect.arrayContaining([
        { action: 'add', kind: 'member', row: { group: 'readers', name: 'alice' } },
      ]) as unknown,
    });
    const exported = (await program.get('/api/admin/snapshot')).body;
    expect(exported).toEqual({ ...FILE, grants: expect.arrayContaining(FILE.grants) as unknown });
    expect(await apply(exported)).toMatchObject({ outcome: 'no_change', plan: [] });

    const less = { ...FILE, grants: FILE.grants.slice(0, 1) };
    expect(await apply(less)).toMatchObject({ outcome: 'no_change' });
    expect(await apply(less, { prune: true })).toMatchObject({
      outcome: 'applied',
      plan: [{ action: 'remove', kind: 'grant', row: { resource: { catalog: 'hr' } } }],
    });
    const { items } = (await boss.get('/api/admin/audit?event=snapshot_applied&limit=1')).body as { items: object[] };
    expect(items).toMatchObject([{ actor: { name: 'admin', token: { id: tokenId } }, details: { prune: true } }]);
  });

  it('is answered with warnings about expressions, with places', async () => {
    const rule = { kind: 'row_filter', principal: { type: 'everyone' }, resource: { catalog: 'warned', schema: 'eu' } };
    const policies = [
      { ...rule, expression: 'true' },
      { ...rule, expression: 'EXISTS (SELECT 1 FROM ref.eu.m)' },
    ];
    expect(await apply({ ...FILE, policies }, { dry_run: true })).toMatchObject({
      outcome: 'planned',
      warnings: [expect.stringMatching(/^policies\[1\][.]expression: EXISTS \(SELECT …\) makes the row filter a join/)],
    });
  });

  it('is refused as a whole, with places', async () => {
    const grants = [FILE.grants[0], { ...FILE.grants[1], principal: { type: 'user', name: 'nobody' } }];
    const snapshot = { ...FILE, groups: [...FILE.groups, { name: 'new', members: [] }], grants };
    const refused = await program.post('/api/admin/snapshot', { snapshot });
    expect(refused).toMatchObject({ status: 422, body: { outcome: 'refused', plan: [] } });
    expect(JSON.stringify(refused.body?.['problems'])).toContain('"path":"grants[1].principal');
    expect(JSON.stringify((await program.get('/api/admin/snapshot')).body)).not.toContain('"new"');
    expect(await apply({ ...FILE, constructor: [] })).toMatchObject({ outcome: 'refused' });
    expect(await apply({ ...FILE, grants: [{ constructor: 'x', __proto__: {} }] })).toMatchObject({
      outcome: 'refused',
    });
  });

  it.each<[string, object, string]>([
    ['no snapshot', {}, 'snapshot'],
    ['a list', { snapshot: [] }, 'snapshot'],
    ['a text for an option', { snapshot: FILE, prune: 'true' }, 'prune'],
    ['an unknown option', { snapshot: FILE, force: true }, 'force'],
  ])('is no body with %s', async (_, body, field) => {
    const answer = await program.post('/api/admin/snapshot', body);
    expect([answer.status, (answer.body?.['errors'] as { field: string }[])[0]?.field]).toEqual([400, field]);
  });

  it('may have more than other bodies of administration', async () => {
    const description = 'x'.repeat(900);
    const groups = Array.from({ length: 1_500 }, (_, i) => ({ name: `group ${i}`, description, members: [] }));
    expect(await apply({ ...FILE, groups: [...FILE.groups, ...groups] }, { dry_run: true })).toMatchObject({
      outcome: 'planned',
    });
  });
});
