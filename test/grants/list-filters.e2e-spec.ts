import { people, sharedAdministrator } from '../support/service/administrator.js';
import { ApiClient, signIn } from '../support/service/api-client.js';
import { sharedService } from '../support/service/service.js';

const GRANTS = '/api/admin/grants';
const POLICIES = '/api/admin/policies';
const GROUPS = '/api/admin/groups';
const ORDERS = { catalog: 'sales', schema: 'eu', table: 'orders' };

describe('lists', () => {
  const service = sharedService({ ACL_METADATA_CATALOG: 'grantline' });
  const admin = sharedAdministrator(service);
  let ids: Record<'alice' | 'bob', number>;
  const idOf = async (path: string, body: object) => Number((await admin.post(path, body)).body?.['id']);
  const found = async (path: string): Promise<unknown[]> => {
    const { status, body } = await admin.get(path);
    return status === 200 ? (body?.['items'] as { id: unknown }[]).map(({ id }) => id) : [body?.['errors']];
  };
  const problemOf = async (path: string) =>
    ((await admin.get(path)).body?.['errors'] as { field: string }[]).map(({ field }) => field);

  beforeAll(async () => {
    ids = await people(service, 'alice', 'bob');
  });

  describe('of grants and policies', () => {
    const nodes = [
      {},
      { catalog: 'sales' },
      { catalog: 'sales', schema: 'eu' },
      ORDERS,
      { ...ORDERS, table: 'lines' },
      { catalog: 'sales', schema: 'us' },
      { catalog: 'hr' },
      { catalog: 'sales', schema: 'eu', table: 'a.b"c' },
    ];
    const made: Record<string, number[]> = {};
    beforeAll(async () => {
      const principal = { type: 'user', id: ids.alice };
      made[GRANTS] = [];
      made[POLICIES] = [];
      for (const resource of nodes) {
        made[GRANTS].push(await idOf(GRANTS, { principal, resource, privileges: ['SELECT'] }));
        made[POLICIES].push(await idOf(POLICIES, { principal, resource, kind: 'deny', privileges: ['INSERT'] }));
      }
      await idOf(GRANTS, {
        principal,
        resource: { catalog: 'sales', schema: 'eu', routine: 'orders' },
        privileges: ['CALL_PROCEDURE'],
      });
      await idOf(GRANTS, { principal, resource: { engine: true }, privileges: ['VIEW_QUERIES'] });
    });
    const at = (path: string, ...places: number[]) => places.map((place) => made[path]?.[place]);

    it.each([GRANTS, POLICIES])('%s: what covers a node is what stands on it and above it', async (path) => {
      expect(await found(`${path}?covering=sales.eu.orders`)).toEqual(at(path, 0, 1, 2, 3));
      expect(await found(`${path}?covering=sales.eu`)).toEqual(at(path, 0, 1, 2));
      expect(await found(`${path}?covering=hr`)).toEqual(at(path, 0, 6));
      expect(await found(`${path}?covering=sales.eu.%22a.b%22%22c%22`)).toEqual(at(path, 0, 1, 2, 7));
      expect(await found(`${path}?covering=sales.eu.orders&level=table`)).toEqual(at(path, 3));
    });

    it.each([GRANTS, POLICIES])('%s: nothing on everything covers system and the metadata catalog', async (path) => {
      expect(await found(`${path}?covering=system`)).toEqual([]);
      expect(await found(`${path}?covering=system.runtime.queries`)).toEqual([]);
      expect(await found(`${path}?covering=grantline.public`)).toEqual([]);
    });

    it.each(['', '.', 'sales.', 'sales..orders', 'a.b.c.d', 'Sales', 'sales.eu.a"b', '"sales', 'a%00'])(
      'refuse to cover %j',
      async (covering) => {
        const asked = covering.includes('%') ? covering : encodeURIComponent(covering);
        expect(await problemOf(`${GRANTS}?covering=${asked}`)).toEqual(['covering']);
      },
    );

    it('of policies are by principal, names and level, too', async () => {
      const everyones = await idOf(POLICIES, {
        ...{ principal: { type: 'everyone' }, resource: { ...ORDERS, column: 'card' }, kind: 'hidden_column' },
      });
      expect(await found(`${POLICIES}?principal=everyone`)).toEqual([everyones]);
      expect(await found(`${POLICIES}?principal=user:${ids.bob}`)).toEqual([]);
      expect(await found(`${POLICIES}?catalog=sales&schema=eu&table=orders`)).toEqual([...at(POLICIES, 3), everyones]);
      expect(await found(`${POLICIES}?principal=user:${ids.alice}&level=catalog&limit=1`)).toEqual(at(POLICIES, 1));
      expect(await problemOf(`${POLICIES}?principal=alice`)).toEqual(['principal']);
    });

    it.each([GRANTS, POLICIES])('%s: are searched by who, and where', async (path) => {
      expect(await found(`${path}?q=EU.Lines`)).toEqual(at(path, 4));
      expect(await found(`${path}?q=LIC&level=everything`)).toEqual(at(path, 0));
      expect(await found(`${path}?q=everyt`)).toEqual(at(path, 0));
      expect(await found(`${path}?q=%25`)).toEqual([]);
      expect(await problemOf(`${path}?q=a%00`)).toEqual(['q']);
    });

    it('of grants are by what their privileges are about', async () => {
      const privileges = async (family: string) =>
        ((await admin.get(`${GRANTS}?family=${family}`)).body?.['items'] as { privileges: string[] }[]).flatMap(
          (grant) => grant.privileges,
        );
      expect(await privileges('routine')).toEqual(['CALL_PROCEDURE']);
      expect(await privileges('engine')).toEqual(['VIEW_QUERIES']);
      expect(await privileges('acting')).toEqual([]);
      expect(await problemOf(`${GRANTS}?family=data`)).toEqual(['family']);
    });

    it('of grants are by when they expire', async () => {
      const until = async (expires_at: string) =>
        idOf(GRANTS, {
          ...{ principal: { type: 'user', id: ids.bob }, resource: ORDERS, privileges: ['SELECT'], expires_at },
        });
      const [soon, later] = [await until('2026-11-21T00:00:00Z'), await until('2027-11-21T00:00:00Z')];

      expect(await found(`${GRANTS}?expires_before=2026-12-01T00:00:00Z`)).toEqual([soon]);
      expect(await found(`${GRANTS}?expires_before=2028-01-01T00:00:00Z&catalog=sales`)).toEqual([soon, later]);
      expect(await found(`${GRANTS}?expires_before=2026-11-21T00:00:00Z`)).toEqual([]);
      expect(await problemOf(`${GRANTS}?expires_before=soon`)).toEqual(['expires_before']);
    });

    it('are searched by whose queries they are about, policies also by their column', async () => {
      const principal = { type: 'user', id: ids.bob };
      const group = { type: 'group', id: await idOf(GROUPS, { name: 'Night shift' }) };
      const theirs = { principal, resource: { queries: group } };
      const grant = await idOf(GRANTS, { ...theirs, privileges: ['VIEW_QUERIES'] });
      const deny = await idOf(POLICIES, { ...theirs, kind: 'deny' });
      const dash = { principal, kind: 'deny', resource: { as: { type: 'engine', name: 'Dash-1' } } };
      const acting = await idOf(POLICIES, dash);
      const column = { principal, kind: 'hidden_column', resource: { catalog: 'hr', column: 'iban' } };
      const hidden = await idOf(POLICIES, column);

      expect(await found(`${GRANTS}?q=night`)).toEqual([grant]);
      expect(await found(`${POLICIES}?q=NIGHT`)).toEqual([deny]);
      expect(await found(`${POLICIES}?q=dash-1`)).toEqual([acting]);
      expect(await found(`${POLICIES}?q=hr.IBAN`)).toEqual([hidden]);
      expect(await found(`${GRANTS}?q=engine`)).toMatchObject([expect.any(Number)]);
    });
  });

  it('are searched in any case, letters beyond ASCII included', async () => {
    const group = { type: 'group', id: await idOf(GROUPS, { name: 'Ärzte in Łódź' }) };
    const person = await idOf('/api/admin/users', { username: 'Ünal', email: 'unal@example.org' });
    const ofPerson = {
      principal: { type: 'user', id: person },
      resource: { catalog: 'sales' },
      privileges: ['SELECT'],
    };
    const ofProgram = { ...ofPerson, principal: { type: 'engine', name: 'Šípek' } };
    const grants = [await idOf(GRANTS, ofPerson), await idOf(GRANTS, ofProgram)];
    const deny = await idOf(POLICIES, { kind: 'deny', principal: group, resource: ORDERS });

    expect(await found(`${GROUPS}?q=äRZTE IN łÓDŹ`)).toEqual([group.id]);
    expect(await found('/api/admin/users?q=üNAL')).toEqual([person]);
    expect([await found(`${GRANTS}?q=üNAL`), await found(`${GRANTS}?q=šÍPEK`)]).toEqual(grants.map((id) => [id]));
    expect(await found(`${POLICIES}?q=ÄRZTE`)).toEqual([deny]);
    for (const query of ['q=üNAL&event=account_created', 'user=üNAL&event=account_created'])
      expect((await admin.get(`/api/admin/audit?${query}`)).body?.['items']).toHaveLength(1);
  });

  it('of groups are by a part of the name, and by who is in them', async () => {
    const [north, south] = [await idOf(GROUPS, { name: 'North_sales' }), await idOf(GROUPS, { name: 'South sales' })];
    await admin.send('PUT', `${GROUPS}/${south}/members/${ids.bob}`);
    await admin.send('PUT', `${GROUPS}/${north}/members/engine:bi`);

    expect(await found(`${GROUPS}?q=SALES`)).toEqual([north, south]);
    expect(await found(`${GROUPS}?q=h_s`)).toEqual([north]);
    expect(await found(`${GROUPS}?q=sales&member=${ids.bob}`)).toEqual([south]);
    expect(await found(`${GROUPS}?member=engine:bi`)).toEqual([north]);
    expect(await found(`${GROUPS}?q=sales&limit=1`)).toEqual([north]);
    expect(await problemOf(`${GROUPS}?member=bob`)).toEqual(['member']);
  });

  it('of events are by their subject, and by an account of any name', async () => {
    const made = await admin.post('/api/admin/users', { username: 'dee@example.org' });
    const id = String((made.body?.['user'] as { id: number } | undefined)?.id ?? made.body?.['id']);
    const events = async (query: string) =>
      ((await admin.get(`/api/admin/audit?${query}`)).body?.['items'] as { subject: { id: string } }[]).map(
        ({ subject }) => subject.id,
      );

    expect(await events(`subject=user:${id}`)).toEqual([id]);
    expect(await events('user=DEE@example.org')).toEqual([id]);
    expect(await events(`subject=group:${id}&event=account_created`)).toEqual([]);
    expect(await problemOf('/api/admin/audit?subject=dee')).toEqual(['subject']);
  });

  it('of events are by their request and by any of their words, and come as a file', async () => {
    const group = await idOf(GROUPS, { name: 'Trail, "readers"' });
    const headers = { 'X-Request-Id': 'trail-1' };
    await admin.send('PUT', `${GROUPS}/${group}/members/${ids.bob}`, undefined, headers);
    const events = async (query: string) =>
      ((await admin.get(`/api/admin/audit?${query}`)).body?.['items'] as { event: string }[]).map(({ event }) => event);

    expect(await events('request_id=trail-1')).toEqual(['member_added']);
    expect(await events('request_id=trail')).toEqual([]);
    expect(await events(`q=${encodeURIComponent('trail, ')}`)).toEqual(['member_added', 'group_created']);
    expect(await events(`q=GROUP+${group}+trail`)).toEqual(['member_added', 'group_created']);
    expect(await events('q=member+added&request_id=trail-1')).toEqual(['member_added']);
    expect(await events('q=Member_added&request_id=trail-1')).toEqual(['member_added']);
    expect(await problemOf('/api/admin/audit?request_id=')).toEqual(['request_id']);

    const response = await fetch(`${service.url}/api/admin/audit?format=csv&subject=group:${group}`, {
      headers: { Authorization: `Bearer ${admin.token}` },
    });
    expect(response.headers.get('content-disposition')).toBe('attachment; filename="audit.csv"');
    const [head, added, created, end] = (await response.text()).split('\r\n');
    expect(head).toMatch(/^id,at,event,actor_id,actor_name,/);
    expect(added).toContain(',member_added,');
    expect(added).toContain(',"Trail, ""readers""",127.0.0.1,trail-1,');
    expect([created?.includes(',group_created,'), end]).toEqual([true, '']);
  });

  it('of events as a file hold no formulas, whatever people call their things', async () => {
    const anonymous = new ApiClient(service);
    const bob = anonymous.as((await signIn(anonymous, 'bob')).access_token);
    const expires_at = new Date(service.clock.now().getTime() + 3_600_000).toISOString();
    const names = ['=1+cmd', '+1', '-1', '@SUM(1)', 'x;=1'];
    for (const name of names) await bob.post('/api/auth/tokens', { name, scopes: ['access.read'], expires_at });

    const response = await fetch(`${service.url}/api/admin/audit?format=csv&event=token_created`, {
      headers: { Authorization: `Bearer ${admin.token}` },
    });
    const rows = (await response.text()).split('\r\n').slice(1, -1);
    expect(rows.map((row) => row.split(',')[9]).reverse()).toEqual(["'=1+cmd", "'+1", "'-1", "'@SUM(1)", "x;'=1"]);
  });

  it('of accounts say of each how it is used', async () => {
    for (const name of ['Use c', 'use b', 'use d', 'use a']) {
      await admin.send('PUT', `${GROUPS}/${await idOf(GROUPS, { name })}/members/${ids.alice}`);
    }
    const before = await admin.get(`/api/admin/users/${ids.alice}`);
    await signIn(new ApiClient(service), 'alice');
    const after = await admin.get('/api/admin/users?q=alice');

    expect(before.body).toMatchObject({ groups: ['use a', 'use b', 'Use c'], group_count: 4, last_sign_in_at: null });
    expect(after.body?.['items']).toMatchObject([
      { groups: ['use a', 'use b', 'Use c'], group_count: 4, last_sign_in_at: expect.stringMatching(/^2/) as unknown },
    ]);
  });
});
