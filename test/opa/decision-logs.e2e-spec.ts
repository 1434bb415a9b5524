import { gzipSync } from 'node:zlib';
import { GrantUseStore } from '../../src/grants/grant-use.store.js';
import { DatabaseSession } from '../../src/platform/database/database-session.js';
import { administrator, people } from '../support/service/administrator.js';
import { ApiClient, signIn } from '../support/service/api-client.js';
import { sharedService, type TestService } from '../support/service/service.js';

const TOKEN = 'the-token-of-opa-0123456789-abcdef';
const SETTINGS = { ACL_TARGET: 'file,opa', OPA_TOKEN: TOKEN };
const LOGS = { ...SETTINGS, OPA_DECISION_LOGS_ENABLED: 'true' };
const UNUSED = '/api/admin/access/unused';
const ORDERS = { catalog: 'sales', schema: 'eu', table: 'orders' };
const DAY_SECONDS = 86_400;
const MIB = 2 ** 20;

/** Sends a body to the route of decision logs. @returns its answer */
const send = (service: TestService, payload: string | Buffer, headers: Record<string, string> = {}) =>
  service.operations.inject({
    method: 'POST',
    url: '/api/opa/logs',
    headers: {
      ...{ authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', 'content-encoding': 'gzip' },
      ...headers,
    },
    payload,
  });

interface Asked {
  user?: string;
  operation: string;
  resource?: object;
  targetResource?: object;
}
const table = ({ catalog, schema, table: name }: typeof ORDERS) => ({
  table: { catalogName: catalog, schemaName: schema, tableName: name },
});
const reads = (where: Partial<typeof ORDERS> = {}, user = 'alice'): Asked => ({
  ...{ user, operation: 'SelectFromColumns', resource: table({ ...ORDERS, ...where }) },
});

describe('decision logs', () => {
  const service = sharedService(LOGS);
  let admin: ApiClient;
  let ids: Record<'alice' | 'bob', number>;
  let group: number;
  beforeAll(async () => {
    admin = await administrator(service);
    ids = await people(service, 'alice', 'bob');
    group = await made('groups', { name: 'analysts' });
    expect((await admin.send('PUT', `/api/admin/groups/${group}/members/${ids.alice}`)).status).toBe(204);
    expect((await admin.send('PUT', `/api/admin/groups/${group}/members/engine:airflow`)).status).toBe(204);
  });
  afterEach(async () => {
    await service.app.get(DatabaseSession).query('DELETE FROM grant_uses');
    await service.app.get(DatabaseSession).query('UPDATE grants SET revoked_at = granted_at WHERE revoked_at IS NULL');
  });

  const made = async (path: string, body: object): Promise<number> => {
    const answer = await admin.post(`/api/admin/${path}`, body);

    expect(answer).toMatchObject({ status: 201 });
    return Number(answer.body?.['id']);
  };
  interface To {
    type: string;
    id?: number;
    name?: string;
  }
  const user = (name: 'alice' | 'bob'): To => ({ type: 'user', id: ids[name] });
  const grant = async (principal: To, resource: object, ...privileges: string[]): Promise<number> => {
    const id = await made('grants', { principal, resource, privileges });
    service.clock.advance(1);
    return id;
  };
  /** An event in the form of OPA 1.22. */
  const event = ({ user: name = 'alice', ...action }: Asked, given: object = {}): object => ({
    ...{ decision_id: 'd5a0b6a2', labels: { id: 'x', version: '1.22.2' }, path: 'grantline/allow', result: true },
    ...{ bundles: { grantline: { revision: 'v1-0123456789ab' } }, timestamp: service.clock.now().toISOString() },
    input: { context: { identity: { user: name, groups: [] }, softwareStack: { trinoVersion: '483' } }, action },
    ...given,
  });
  const log = async (...events: object[]): Promise<void> => {
    expect(await send(service, gzipSync(JSON.stringify(events)))).toMatchObject({ statusCode: 204, body: '' });
  };
  const wait = async (days: number): Promise<void> => {
    service.clock.advance(days * DAY_SECONDS);
    admin = new ApiClient(service).as((await signIn(new ApiClient(service), 'admin')).access_token);
  };
  const answer = async (query = '') => (await admin.get(`${UNUSED}${query}`)).body as { items: Item[]; next: string };
  interface Item {
    grant: { id: number; unused_since: string | null };
    created_at: string;
    last_used_on: string | null;
  }
  const unused = async (days = 90): Promise<number[]> =>
    (await answer(`?days=${days}&limit=200`)).items.map((item) => item.grant.id);
  /** Which of the grants are used by these events. */
  const usedBy = async (grants: readonly number[], ...asked: Asked[]): Promise<number[]> => {
    await log(...asked.map((each) => event(each)));
    const left = await unused();
    return grants.filter((id) => !left.includes(id));
  };
  const counters = (): Promise<object[]> =>
    service.app
      .get(DatabaseSession)
      .query('SELECT grant_id, person, privilege, day::text, decisions::int FROM grant_uses ORDER BY 1, 2, 3, 4');

  it('count an allowed decision for each grant that covers it, and for no other', async () => {
    const covering = [
      await grant({ type: 'everyone' }, {}, 'SELECT'),
      await grant({ type: 'group', id: group }, { catalog: 'sales' }, 'INSERT', 'SELECT'),
      await grant(user('alice'), { catalog: 'sales', schema: 'eu' }, 'GRANT_SELECT'),
      await grant(user('alice'), ORDERS, 'SELECT'),
    ];
    const others = [
      await grant(user('alice'), ORDERS, 'INSERT'),
      await grant(user('alice'), { ...ORDERS, table: 'returns' }, 'SELECT'),
      await grant(user('alice'), { catalog: 'hr' }, 'SELECT'),
      await grant(user('bob'), ORDERS, 'SELECT'),
    ];
    await log(event(reads()), event(reads()));

    const today = service.clock.now().toISOString().slice(0, 10);
    const [everyone, byGroup, bySchema, direct] = covering;
    expect(await counters()).toEqual(
      [
        { grant_id: everyone, privilege: 'SELECT' },
        { grant_id: byGroup, privilege: 'SELECT' },
        { grant_id: bySchema, privilege: 'GRANT_SELECT' },
        { grant_id: direct, privilege: 'SELECT' },
      ].map((each) => ({ ...each, person: 'alice', day: today, decisions: 2 })),
    );
    expect(await unused()).toEqual(others);
    const { items } = await answer();
    const listed = (await admin.get(`/api/admin/grants/${others[0]}`)).body;
    expect(items[0]).toEqual({ grant: listed, created_at: listed?.['granted_at'], last_used_on: null });
  });

  it.each<[string, () => Asked, () => [To, object, string], (() => [To, object, string])?]>([
    [
      'a routine',
      () => ({
        operation: 'ExecuteFunction',
        resource: { function: { catalogName: 'sales', schemaName: 'eu', functionName: 'rate' } },
      }),
      () => [user('alice'), { catalog: 'sales', schema: 'eu', routine: 'rate' }, 'EXECUTE_FUNCTION'],
      () => [user('alice'), { catalog: 'sales', schema: 'eu', table: 'rate' }, 'SELECT'],
    ],
    [
      'a schema',
      () => ({ operation: 'DropSchema', resource: { schema: { catalogName: 'sales', schemaName: 'eu' } } }),
      () => [user('alice'), { catalog: 'sales', schema: 'eu' }, 'OWNERSHIP'],
      () => [user('alice'), { catalog: 'sales', schema: 'eu' }, 'TABLE_OWNERSHIP'],
    ],
    [
      'running queries',
      () => ({ operation: 'ExecuteQuery' }),
      () => [user('alice'), { engine: true }, 'EXECUTE_QUERIES'],
      () => [user('alice'), { engine: true }, 'VIEW_QUERIES'],
    ],
    [
      'the queries of a group',
      () => ({ user: 'bob', operation: 'ViewQueryOwnedBy', resource: { user: { user: 'alice', groups: [] } } }),
      () => [user('bob'), { queries: { type: 'group', id: group } }, 'VIEW_QUERIES'],
      () => [user('bob'), { queries: user('bob') }, 'VIEW_QUERIES'],
    ],
    [
      'acting as somebody',
      () => ({ user: 'superset', operation: 'ImpersonateUser', resource: { user: { user: 'alice' } } }),
      () => [{ type: 'engine', name: 'superset' }, { as: user('alice') }, 'IMPERSONATE'],
      () => [{ type: 'engine', name: 'superset' }, { as: user('bob') }, 'IMPERSONATE'],
    ],
    [
      'an engine principal of a group',
      () => reads({}, 'airflow'),
      () => [{ type: 'group', id: group }, ORDERS, 'SELECT'],
      () => [user('bob'), ORDERS, 'SELECT'],
    ],
    [
      'a new name of a table',
      () => ({
        operation: 'RenameTable',
        resource: table(ORDERS),
        targetResource: table({ ...ORDERS, table: 'sold' }),
      }),
      () => [user('alice'), { ...ORDERS, table: 'sold' }, 'TABLE_OWNERSHIP'],
      () => [user('alice'), { ...ORDERS, table: 'sole' }, 'TABLE_OWNERSHIP'],
    ],
    [
      'a table of the engine',
      () => reads({ catalog: 'system', schema: 'runtime', table: 'nodes' }),
      () => [user('alice'), { catalog: 'system', schema: 'runtime' }, 'SELECT'],
      () => [user('alice'), {}, 'SELECT'],
    ],
  ])('count for a grant of %s, and not for one beside it', async (_, asked, covering, beside) => {
    const used = await grant(...covering());
    const other = beside === undefined ? -1 : await grant(...beside());
    expect(await usedBy([used, other], asked())).toEqual([used]);
  });

  it.each<[string, () => object]>([
    ['that was refused', () => ({ result: false })],
    ['without a result', () => ({ result: undefined })],
    ['with a list as its result', () => ({ result: [0] })],
    ['of another entry point', () => ({ path: 'grantline/batch' })],
    ['of no time', () => ({ timestamp: 'yesterday' })],
    [
      'of a time before the grant',
      () => ({ timestamp: new Date(service.clock.now().getTime() - 60_000).toISOString() }),
    ],
    ['that is longer ago than the retention', () => ({ timestamp: '2020-01-01T00:00:00Z' })],
    ['of nobody', () => ({ input: {} })],
    ['of an unknown name', () => event(reads({}, 'mallory'))],
    ['of a service account', () => event(reads({}, 'grantline'))],
    ['of an unknown operation', () => event({ ...reads(), operation: '__proto__' })],
    [
      'that anything in a catalog allows',
      () => event({ operation: 'AccessCatalog', resource: { catalog: { name: 'sales' } } }),
    ],
    ['of the information schema', () => event(reads({ schema: 'information_schema' }))],
    ['about nothing', () => event({ operation: 'SelectFromColumns' })],
  ])('do not count a decision %s', async (_, given) => {
    await grant({ type: 'everyone' }, {}, 'SELECT');
    await grant(user('alice'), { catalog: 'sales' }, 'SELECT');
    service.clock.advance(30);
    await log(event(reads(), given()), []);
    expect(await counters()).toEqual([]);
  });

  it('know the day of the event; a clock that is ahead counts as ours', async () => {
    const id = await grant(user('alice'), { catalog: 'days' }, 'SELECT');
    const granted = service.clock.now();
    await wait(40);
    const at = (ms: number): object => event(reads({ catalog: 'days' }), { timestamp: new Date(ms).toISOString() });
    await log(at(granted.getTime() + 1_000));
    const on = granted.toISOString().slice(0, 10);
    expect((await answer('?days=40')).items.find(({ grant: { id: each } }) => each === id)).toMatchObject({
      last_used_on: on,
    });
    expect(await unused(41)).not.toContain(id);
    expect((await admin.get(`/api/admin/grants/${id}`)).body).toMatchObject({
      unused_since: new Date(granted.getTime() + DAY_SECONDS * 1_000).toISOString().slice(0, 10),
    });

    await log(at(service.clock.now().getTime() + 400 * DAY_SECONDS * 1000));
    expect(await unused(1)).not.toContain(id);
    expect((await admin.get(`/api/admin/grants/${id}`)).body).toMatchObject({ unused_since: null });
    await wait(1);
    expect(await unused(1)).toContain(id);
  });

  it('are kept for the retention', async () => {
    await grant(user('alice'), { catalog: 'kept' }, 'SELECT');
    await log(event(reads({ catalog: 'kept' })));
    await wait(89);
    await service.app.get(GrantUseStore).removePastCounts();
    expect(await counters()).toHaveLength(1);
    await wait(1);
    await service.app.get(GrantUseStore).removePastCounts();
    expect(await counters()).toEqual([]);
  });

  it('tell unused grants a page at a time, and only live ones', async () => {
    const live = await unused();
    const [first, second] = [
      await grant(user('bob'), { catalog: 'p1' }, 'SELECT'),
      await grant(user('bob'), { catalog: 'p2' }, 'SELECT'),
    ];
    const ended = await grant(user('bob'), { catalog: 'p3' }, 'SELECT');
    await admin.delete(`/api/admin/grants/${ended}`);
    const expiring = { principal: user('bob'), resource: { catalog: 'p4' }, privileges: ['SELECT'] };
    await made('grants', { ...expiring, expires_at: new Date(service.clock.now().getTime() + 5_000).toISOString() });
    service.clock.advance(10);
    expect(await unused()).toEqual([...live, first, second]);

    const page = await answer(`?days=90&limit=${live.length + 1}`);
    expect(page.items.at(-1)).toMatchObject({ grant: { id: first } });
    expect((await answer(`?days=90&after=${page.next}`)).items).toMatchObject([{ grant: { id: second } }]);
  });

  it.each(['0', '91', '-1', '1.5', 'x', '', '1e1'])('are asked for %s days: 400', async (days) => {
    expect(await admin.get(`${UNUSED}?days=${days}`)).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'days' }] },
    });
  });

  it('that are unknown operations are counted', async () => {
    const counted = async (): Promise<number> =>
      Number(/^grantline_opa_unknown_operations_total (\d+)$/m.exec(await service.metrics())?.[1]);
    const before = await counted();
    const unknown = event({ operation: 'DreamOfTables' }, { result: false });
    await log(unknown, event({ operation: 'constructor' }), event(reads()));
    expect(await counted()).toBe(before + 2);
  });

  it.each<[string, number, () => string | Buffer, Record<string, string>?]>([
    ['without the token', 401, () => gzipSync('[]'), { authorization: '' }],
    ['with another token', 401, () => gzipSync('[]'), { authorization: `Bearer ${TOKEN}x` }],
    ['unpacked', 415, () => '[]', { 'content-encoding': '' }],
    ['packed otherwise', 415, () => gzipSync('[]'), { 'content-encoding': 'br' }],
    ['that is not packed', 400, () => '[]'],
    ['that is empty', 400, () => ''],
    ['that is cut off', 400, () => gzipSync(JSON.stringify([event(reads())])).subarray(0, 100)],
    [
      'with a wrong checksum',
      400,
      () => {
        const b = gzipSync('[{}]');
        b.writeUInt8(b.readUInt8(b.length - 8) ^ 1, b.length - 8);
        return b;
      },
    ],
    ['that is an object', 400, () => gzipSync('{}')],
    ['that is two arrays', 400, () => gzipSync('[][]')],
    ['without an end', 400, () => gzipSync('[{}')],
    ['with a comma too many', 400, () => gzipSync('[{},]')],
    ['with a wrong bracket', 400, () => gzipSync('[{]]')],
    ['that is no JSON', 400, () => gzipSync('[nil]')],
    [
      'of more than 1 MiB',
      413,
      () => gzipSync(Buffer.from(Array.from({ length: MIB + 1000 }, () => Math.random() * 256)), { level: 0 }),
    ],
    ['of more than 16 MiB', 413, () => gzipSync(`[${' '.repeat(16 * MIB)}]`)],
    ['of 200 MiB', 413, () => gzipSync(Buffer.alloc(200 * MIB, 0x20))],
    ['of 16 MiB', 204, () => gzipSync(`[${' '.repeat(16 * MIB - 2)}]`)],
    ['of numbers', 204, () => gzipSync(`[${'0,'.repeat(4 * MIB)}0]`)],
    ['of lists in lists', 204, () => gzipSync(`[${'['.repeat(8 * MIB - 2)}${']'.repeat(8 * MIB - 2)}]`)],
    ['of one text', 204, () => gzipSync(`["${'x'.repeat(16 * MIB - 10)}"]`)],
    ['of quotes and brackets in texts', 204, () => gzipSync(JSON.stringify(['"]}', '\\"[', '\\\\', { '[': ']' }, []]))],
    ['with NUL in a name', 204, () => gzipSync(JSON.stringify([event(reads({ table: 'a\0b' }))]))],
    ['in two parts', 204, () => Buffer.concat([gzipSync('[{}'), gzipSync(']')])],
  ])('%s: %i', async (_, statusCode, body, ...[headers]) => {
    expect(await send(service, body(), headers)).toMatchObject({ statusCode });
  });

  it('of 2,000 tables are counted', async () => {
    const id = await grant(user('alice'), { catalog: 'wide' }, 'SELECT');
    await log(...Array.from({ length: 2_000 }, (__, i) => event(reads({ catalog: 'wide', table: `t${i}` }))));
    expect(await counters()).toMatchObject([{ grant_id: id, decisions: 2_000 }]);
  });
});

describe('decision logs that are off', () => {
  const service = sharedService(SETTINGS);

  it('have no route, and tell of no grant', async () => {
    const admin = await administrator(service);
    const { alice } = await people(service, 'alice');
    const body = { principal: { type: 'user', id: alice }, resource: ORDERS, privileges: ['SELECT'] };
    const { body: granted } = await admin.post('/api/admin/grants', body);
    expect(await send(service, gzipSync('[]'))).toMatchObject({ statusCode: 404 });
    expect(await admin.get(`${UNUSED}?days=90`)).toMatchObject({ status: 409, body: { code: 'decision_logs_off' } });
    expect((await admin.get(`/api/admin/grants/${Number(granted?.['id'])}`)).body).not.toHaveProperty('unused_since');
  });
});
