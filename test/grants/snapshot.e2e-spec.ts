import { SnapshotStore } from '../../src/grants/domain/snapshot-store.js';
import type { ApiClient } from '../support/service/api-client.js';
import { administrator, people } from '../support/service/administrator.js';
import { startService, type TestService } from '../support/service/service.js';

describe('the snapshot that rules follow from', () => {
  let service: TestService;
  let admin: ApiClient;
  let ids: Record<'alice' | 'bob', number>;

  beforeEach(async () => {
    service = await startService({
      ACL_METADATA_CATALOG: 'grantline',
      ACL_WRITABLE_CATALOGS: 'lake',
      ACL_READABLE_CATALOGS: 'sales',
      SERVICE_QUERY_USER: 'service-account-grantline',
    });
    admin = await administrator(service);
    ids = await people(service, 'alice', 'bob');
  });
  afterEach(() => service.stop());

  const read = () => service.app.get(SnapshotStore).read();

  it('grows by the rows written since, and by their principals', async () => {
    const growth = (since: Date) => service.app.get(SnapshotStore).growthSince(since);
    const long = new Date(0);
    expect(await growth(long)).toEqual({ bytes: 0, isWide: false });
    const orders = { catalog: 'sales', schema: 'eu', table: 'orders' };
    const grant = { principal: { type: 'user', id: ids.alice }, resource: orders, privileges: ['SELECT'] };
    const given = await admin.post('/api/admin/grants', grant);
    expect(await growth(long)).toEqual({
      bytes: 400 + 4 * 'saleseuorders'.length + 8 * 'alice '.length,
      isWide: false,
    });
    service.clock.advance(60);
    expect(await growth(service.clock.now())).toEqual({ bytes: 0, isWide: false });
    await admin.post('/api/admin/grants', { ...grant, resource: { catalog: 'sales' } });
    expect(await growth(service.clock.now())).toMatchObject({ isWide: true });
    await admin.delete(given.headers.get('location') ?? '');
    expect((await growth(long)).bytes).toBe(400 + 4 * 'sales'.length + 8 * 'alice '.length);
  });

  it('grows by the names of all members of a group that a grant names as its principal or in its node', async () => {
    const { body } = await admin.post('/api/admin/groups', { name: 'readers' });
    const readers = { type: 'group', id: Number(body?.['id']) };
    for (const id of [ids.alice, ids.bob]) await admin.send('PUT', `/api/admin/groups/${readers.id}/members/${id}`);
    await admin.send('PUT', `/api/admin/groups/${readers.id}/members/engine:etl`);
    const growth = async () => (await service.app.get(SnapshotStore).growthSince(service.clock.now())).bytes;
    const membersBytes = 8 * 'alice bob etl '.length;

    service.clock.advance(1);
    await admin.post('/api/admin/grants', { principal: readers, resource: { catalog: 'hr' }, privileges: ['SELECT'] });
    expect(await growth()).toBe(400 + 4 * 'hr'.length + membersBytes);
    service.clock.advance(1);
    const alice = { type: 'user', id: ids.alice };
    await admin.post('/api/admin/grants', {
      principal: alice,
      resource: { queries: readers },
      privileges: ['KILL_QUERIES'],
    });
    expect(await growth()).toBe(400 + 8 * 'alice '.length + membersBytes);
  });

  it('holds what was written down, and the settings', async () => {
    const { body: group } = await admin.post('/api/admin/groups', { name: 'readers' });
    const readers = { type: 'group', id: Number(group?.['id']) };
    await admin.send('PUT', `/api/admin/groups/${readers.id}/members/${ids.bob}`);
    const sales = { catalog: 'sales', schema: 'eu' };
    await admin.post('/api/admin/grants', {
      principal: readers,
      resource: { ...sales, table: 'orders' },
      privileges: ['INSERT', 'SELECT'],
      expires_at: '2026-12-01T00:00:00.5Z',
    });
    await admin.post('/api/admin/policies', {
      kind: 'column_mask',
      principal: { type: 'everyone' },
      except: [readers, { type: 'engine', name: 'etl' }],
      resource: { ...sales, column: 'ssn' },
      expression: 'NULL',
    });

    const snapshot = await read();

    expect(snapshot.users).toContainEqual({ id: ids.alice, name: 'alice', isActive: true });
    expect(snapshot.groups).toEqual([{ id: readers.id, name: 'readers', members: [ids.bob], engines: [] }]);
    expect(snapshot.grants).toMatchObject([
      {
        principal: readers,
        resource: { ...sales, table: 'orders' },
        privileges: ['SELECT', 'INSERT'],
        expiresAt: new Date('2026-12-01T00:00:00.500Z'),
        revokedAt: null,
      },
    ]);
    expect(snapshot.policies).toMatchObject([
      {
        kind: 'column_mask',
        principal: { type: 'everyone' },
        resource: { ...sales, column: 'ssn' },
        expression: 'NULL',
      },
    ]);
    expect(snapshot.policies[0]?.except).toEqual(
      expect.arrayContaining([readers, { type: 'engine', name: 'etl' }]) as unknown,
    );
    expect(snapshot.settings).toEqual({
      ownAccount: 'service-account-grantline',
      serviceAccounts: ['service-account-grantline'],
      writableCatalogs: ['lake'],
      readableCatalogs: ['sales'],
      metadataCatalog: 'grantline',
      impersonation: true,
      sessionProperties: [],
      readersMaintain: false,
      externalTableCatalogs: [],
      rawColumnCatalogs: [],
    });
    expect(snapshot.at).toEqual(service.clock.now());
  });

  it('leaves out what has no effect: revoked, expired and removed', async () => {
    const before = await read();
    const principal = { type: 'user', id: ids.alice };
    const grant = (catalog: string, overrides: object = {}) =>
      admin.post('/api/admin/grants', { principal, resource: { catalog }, privileges: ['SELECT'], ...overrides });
    const revoked = await grant('a');
    await admin.delete(revoked.headers.get('location') ?? '');
    await grant('b', { expires_at: '2026-11-20T12:00:10Z' });
    const policy = await admin.post('/api/admin/policies', { kind: 'deny', principal, resource: { catalog: 'a' } });
    await admin.delete(policy.headers.get('location') ?? '');

    service.clock.advance(9);
    expect((await read()).grants).toMatchObject([{ resource: { catalog: 'b' } }]);
    service.clock.advance(1);
    expect(await read()).toEqual({ ...before, at: service.clock.now() });
  });

  it('is read only for what a change touches: its schema, the nodes above, and their principals', async () => {
    const group = async (name: string, member: number) => {
      const { body } = await admin.post('/api/admin/groups', { name });
      await admin.send('PUT', `/api/admin/groups/${Number(body?.['id'])}/members/${member}`);
      return { type: 'group', id: Number(body?.['id']) };
    };
    const [readers, auditors] = [await group('readers', ids.bob), await group('auditors', ids.alice)];
    const grant = (principal: object, path: string) => {
      const [catalog, schema, table] = path.split('.');
      const resource = { catalog, ...(schema && { schema }), ...(table && { table }) };
      return admin.post('/api/admin/grants', { principal, resource, privileges: ['SELECT'] });
    };
    for (const path of ['sales', 'sales.eu.orders', 'sales.us', 'hr']) await grant(readers, path);
    await grant({ type: 'engine', name: 'etl' }, 'sales.eu.visits');
    const deny = {
      kind: 'deny',
      principal: { type: 'everyone' },
      except: [auditors],
      resource: { catalog: 'sales', schema: 'eu' },
    };
    await admin.post('/api/admin/policies', deny);
    const touched = async (nodes: { catalog: string; schema?: string }[], groups: number[], most = 10) => {
      const snapshot = await service.app.get(SnapshotStore).readTouched({ nodes, groups }, most);
      if (snapshot === null) return null;
      const paths = snapshot.grants.map(({ resource: { catalog, schema, table } }) =>
        [catalog, schema, table].filter(Boolean).join('.'),
      );
      const { users, policies } = snapshot;
      return [paths, users.map(({ name }) => name), snapshot.groups.map(({ name }) => name), policies.length];
    };

    const inEurope = ['sales', 'sales.eu.orders', 'sales.eu.visits'];
    expect(await touched([{ catalog: 'sales', schema: 'eu' }], [])).toEqual([
      inEurope,
      ['alice', 'bob'],
      ['readers', 'auditors'],
      1,
    ]);
    expect(await touched([{ catalog: 'sales', schema: 'us' }], [])).toEqual([
      ['sales', 'sales.us'],
      ['bob'],
      ['readers'],
      0,
    ]);
    expect(await touched([{ catalog: 'sales' }], [])).toMatchObject([
      ['sales', 'sales.eu.orders', 'sales.us', 'sales.eu.visits'],
      {},
      {},
      1,
    ]);
    expect(await touched([], [readers.id])).toMatchObject([
      ['sales', 'sales.eu.orders', 'sales.us', 'hr', 'sales.eu.visits'],
      {},
      {},
      1,
    ]);
    expect(await touched([], [auditors.id])).toMatchObject([inEurope, {}, {}, 1]);
    expect(await touched([{ catalog: 'sales' }], [], 3)).toBeNull();
  });
});
