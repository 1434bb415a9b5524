import { SignJWT } from 'jose';
import { DataSource } from 'typeorm';
import { MaintenanceService } from '../../src/auth/maintenance.service.js';
import { administrator } from '../support/service/administrator.js';
import { type ApiClient, tokensOf } from '../support/service/api-client.js';
import { OidcBrowser } from '../support/service/oidc-browser.js';
import { sharedOidcService } from '../support/service/oidc-service.js';
import { startService } from '../support/service/service.js';
import { until } from '../support/service/until.js';

describe('groups of people who sign in at the provider', () => {
  const { service, provider, clock, boss, client, redeem, environment, signedIn, idOf } = sharedOidcService({
    AUTH_OIDC_GROUPS_CLAIM: 'groups',
    AUTH_OIDC_ADMINISTRATORS_GROUP: 'Chiefs',
  });

  /** @returns the account's id */
  const signIn = async (name: string, claims: object): Promise<number> => idOf(await signedIn(name, claims));
  const items = async (path: string) => ((await boss.get(path)).body?.['items'] ?? []) as Record<string, unknown>[];
  const groupsOf = async (id: number) => (await items(`/api/admin/groups?member=${id}`)).map(({ name }) => name);
  const groupCalled = async (name: string) => (await items(`/api/admin/groups?q=${name}`))[0];
  const reports = (id: number) => items(`/api/admin/audit?event=groups_disregarded&subject=user:${id}`);

  it('are made, joined and left with each sign-in', async () => {
    const id = await signIn('ada', { groups: ['/emea/analysts', 'ops'] });
    expect(await groupsOf(id)).toEqual(['emea/analysts', 'ops']);
    expect(await groupCalled('ops')).toMatchObject({ source: 'oidc', member_count: 1 });
    await signIn('ada', { groups: ['ops', 'dev'] });
    expect(await groupsOf(id)).toEqual(['ops', 'dev']);
    const ops = await groupCalled('ops');
    await signIn('ada', {}); // somebody in no group has no claim
    expect(await groupsOf(id)).toEqual([]);
    expect(await groupCalled('ops')).toEqual({ ...ops, member_count: 0 });
    const events = await items(`/api/admin/audit?subject=group:${String(ops?.['id'])}`);
    expect(events.map(({ event }) => event)).toEqual(['member_removed', 'member_added', 'group_created']);
    expect(await reports(id)).toEqual([]);
  });

  it('are joined and left with a token that names them, and not with one that does not', async () => {
    const id = await signIn('abe', { groups: ['kept'] });
    const exchange = async (claims: object) => {
      const token = await provider.token({ sub: 'abe', preferred_username: 'abe', typ: 'Bearer', ...claims });
      expect((await client.post('/api/auth/oidc/exchange', { token })).status).toBe(200);
      return groupsOf(id);
    };
    expect(await exchange({})).toEqual(['kept']);
    expect(await exchange({ groups: ['shown'] })).toEqual(['shown']);
    expect(await exchange({ groups: [] })).toEqual([]);
  });

  it('give access, and take it away', async () => {
    const id = await signIn('bo', { groups: ['readers'] });
    const principal = { type: 'group', id: (await groupCalled('readers'))?.['id'] };
    await boss.post('/api/admin/grants', { principal, resource: { catalog: 'sales' }, privileges: ['SELECT'] });
    const mayRead = async () =>
      (await boss.get(`/api/admin/access/explain?principal=user:${id}&privilege=SELECT&catalog=sales`)).body?.[
        'allowed'
      ];
    expect(await mayRead()).toBe(true);
    await signIn('bo', { groups: [] });
    expect(await mayRead()).toBe(false);
  });

  it('stay as they are where the provider does not say', async () => {
    const id = await signIn('cy', { groups: ['many'] });
    for (const claims of [{ _claim_names: { groups: 'src1' } }, { hasgroups: true }, { groups: [7] }]) {
      await signIn('cy', claims);
      expect(await groupsOf(id)).toEqual(['many']);
    }
    expect((await reports(id)).map(({ details }) => details)).toEqual(Array(3).fill({ unknown: true }));
    expect(await service.metrics()).toMatch(/^grantline_oidc_groups_disregarded_total 3$/m);
  });

  it('of administrators are joined by nobody, nor is one of two of a name', async () => {
    await boss.post('/api/admin/groups', { name: 'Finance' });
    const id = await signIn('di', { groups: ['Finance', 'finance.eu', 'twice', '/twice', 'hidden\u200b', 'ok'] });
    expect(await groupsOf(id)).toEqual(['finance.eu', 'ok']);
    const other = await signIn('eli', { groups: ['FINANCE', 'OK'] });
    expect(await groupsOf(other)).toEqual([]);
    expect((await reports(id))[0]).toMatchObject({
      details: { taken: ['Finance'], ambiguous: ['twice'], unusable: 1 },
    });
    expect((await reports(other))[0]).toMatchObject({ details: { taken: ['FINANCE', 'OK'] } });
  });

  it('have members by the provider alone', async () => {
    const id = await signIn('fay', { groups: ['theirs'] });
    const path = `/api/admin/groups/${String((await groupCalled('theirs'))?.['id'])}/members/${id}`;
    for (const method of ['PUT', 'DELETE']) {
      expect(await boss.send(method, path)).toMatchObject({ status: 409, body: { code: 'managed_elsewhere' } });
    }
    expect(await groupsOf(id)).toEqual(['theirs']);
  });

  it('follow while somebody is signed in, each time that the provider is asked again', async () => {
    const browser = new OidcBrowser(service);
    const { code } = await browser.signIn(provider, {
      sub: 'al',
      preferred_username: 'al',
      groups: ['before', 'hidden\u200b'],
    });
    const al = client.as(tokensOf(await redeem(browser, code)).access_token);
    const id = Number((await al.get('/api/auth/me')).body?.['id']);
    provider.changed = { groups: ['after', 'hidden\u200b'] };
    clock.advance(301);
    await al.get('/api/auth/me');
    await until(async () => (await groupsOf(id)).includes('after'));
    expect([await groupsOf(id), await reports(id)]).toMatchObject([['after'], [{}]]);
    provider.changed = {};
  });

  it('are made once by many who come first at once', async () => {
    const names = Array.from({ length: 12 }, (_, i) => `crowd.${i}`);
    const groups = ['together', 'at once', 'first'];
    const ids = await Promise.all(
      names.map((name, i) => signIn(name, { groups: i % 2 ? groups : groups.toReversed() })),
    );
    for (const id of ids) expect((await groupsOf(id)).sort()).toEqual([...groups].sort());
  });

  describe('of administrators', () => {
    const roleOf = async (id: number) => (await boss.get(`/api/admin/users/${id}`)).body?.['role'];
    const roleEvents = async (id: number) =>
      (await items(`/api/admin/audit?event=role_changed&subject=user:${id}`)).map(({ details }) => details);
    const [given, taken] = [
      { from: 'user', to: 'admin', group: 'Chiefs' },
      { from: 'admin', to: 'user', group: 'Chiefs' },
    ];
    const status = async (person: ApiClient) => (await person.get('/api/admin/users')).status;
    const tokenOf = async (person: ApiClient, scope: string, days: number) => {
      const expires_at = new Date(clock.now().getTime() + days * 86_400_000).toISOString();
      const { body } = await person.post('/api/auth/tokens', { name: 'a program', scopes: [scope], expires_at });
      return client.as(String(body?.['token']));
    };

    it('give the role while somebody is in them, from the next request on', async () => {
      const gus = await signedIn('gus', {});
      expect(await status(gus)).toBe(403);
      await signIn('gus', { groups: ['/Chiefs'] });
      expect(await status(gus)).toBe(200);
      const token = await tokenOf(gus, 'admin.read', 1);
      expect(await status(token)).toBe(200);
      await signIn('gus', { groups: ['ops'] });
      expect([await status(gus), (await token.get('/api/admin/users')).body?.['code']]).toEqual([
        403,
        'administrator_required',
      ]);
      expect(await roleEvents(await idOf(gus))).toEqual([taken, given]);
      await signIn('gus', { groups: ['Chiefs'] });
      await signIn('gus', { hasgroups: true });
      expect(await status(token)).toBe(200);
    });

    it('leave a role alone that an administrator gave, and no administrator takes theirs', async () => {
      const id = await signIn('hal', {});
      await boss.patch(`/api/admin/users/${id}`, { role: 'admin' });
      await signIn('hal', { groups: ['Chiefs'] });
      const taking = () => boss.patch(`/api/admin/users/${id}`, { role: 'user' });
      expect(await taking()).toMatchObject({ status: 409, body: { code: 'managed_elsewhere' } });
      await signIn('hal', {});
      expect(await roleOf(id)).toBe('admin');
      expect((await taking()).status).toBe(200);
      const ivy = await signIn('ivy', { groups: ['Chiefs'] });
      expect((await boss.patch(`/api/admin/users/${ivy}`, { role: 'user' })).status).toBe(409);
      expect((await boss.patch(`/api/admin/users/${ivy}`, { is_active: false })).status).toBe(200);
    });

    it('are left, with the role, by whoever is linked to nobody any more', async () => {
      const id = await signIn('rae', { groups: ['Chiefs', 'ops'] });
      expect([await roleOf(id), await groupsOf(id)]).toEqual(['admin', ['ops', 'Chiefs']]);
      expect((await boss.delete(`/api/admin/users/${id}/link`)).status).toBe(204);
      expect([await roleOf(id), await groupsOf(id)]).toEqual(['user', []]);
    });

    it('are not joined again by what the provider says about a session that was ended meanwhile', async () => {
      const sid = await signedIn('sid', { groups: ['Chiefs'] });
      const id = await idOf(sid);
      const answered = async () =>
        / \d+$/m.exec(/^.*rechecks_total\{outcome="renewed"\}.*$/m.exec(await service.metrics())?.[0] ?? '')?.[0];
      const [before, asked] = [await answered(), provider.asked.length];
      let answer = (): void => undefined;
      const held = new Promise<void>((resolve) => (answer = resolve));
      provider.forge = async (payload, { kid, pair }) => {
        await held;
        return new SignJWT(payload).setProtectedHeader({ alg: 'RS256', kid }).sign(pair.privateKey);
      };
      clock.advance(301);
      await sid.get('/api/auth/me');
      await until(() => provider.asked.length > asked);
      expect((await boss.delete(`/api/admin/users/${id}/link`)).status).toBe(204);
      answer();
      await until(async () => (await answered()) !== before);
      provider.forge = null;
      expect([await roleOf(id), await groupsOf(id)]).toEqual(['user', []]);
    });

    it('are deleted by nobody here, with members or without, nor is their name taken', async () => {
      const lou = await signedIn('lou', { groups: ['Chiefs', 'short-lived'] });
      const token = await tokenOf(lou, 'admin.write', 1);
      const path = async (name: string) => `/api/admin/groups/${String((await groupCalled(name))?.['id'])}`;
      await signIn('lou', { groups: ['Chiefs'] });
      for (const by of [boss, token]) {
        for (const name of ['Chiefs', 'short-lived']) {
          expect(await by.delete(await path(name))).toMatchObject({ status: 409, body: { code: 'managed_elsewhere' } });
        }
      }
      expect([await roleOf(await idOf(lou)), await status(lou)]).toEqual(['admin', 200]);
    });

    it('are the only ones of that name, also before anybody is in them', async () => {
      const select = `UPDATE groups SET deleted_at = now() WHERE name = 'Chiefs' RETURNING id`;
      await service.app.get(DataSource).query(select);
      const local = await boss.post('/api/admin/groups', { name: 'Others' });
      const renamed = await boss.patch(`/api/admin/groups/${String(local.body?.['id'])}`, { name: 'CHIEFS' });
      const made = await boss.post('/api/admin/groups', { name: 'chiefs' });
      for (const answer of [renamed, made]) expect(answer).toMatchObject({ status: 409, body: { code: 'name_taken' } });
      const snapshot = { version: 1, groups: [{ name: 'Chiefs', members: [] }], grants: [], policies: [] };
      expect((await boss.post('/api/admin/snapshot', { snapshot })).body).toMatchObject({
        outcome: 'refused',
        problems: [{ path: 'groups[0].name' }],
      });
      expect(await roleOf(await signIn('lou', { groups: ['Chiefs'] }))).toBe('admin');
    });

    it('do not take the last administrator with a password', async () => {
      const id = await signIn('mia', { groups: ['Chiefs'] });
      await boss.post(`/api/admin/users/${id}/one-time-password`);
      expect((await boss.patch(`/api/admin/users/${await idOf(boss)}`, { role: 'user' })).status).toBe(200);
      const mia = await signedIn('mia', {});
      const role = async () => (await mia.get('/api/auth/me')).body?.['role'];
      expect(await role()).toBe('admin');
      await administrator(service, 'nan');
      await service.app.get(MaintenanceService).updateAdministrators();
      expect(await role()).toBe('user');
    });

    it('end, with all else of an API token, when its person does not sign in for thirty days', async () => {
      const [ned, ola] = [await signedIn('ned', {}), await administrator(service, 'ola')];
      const [ofNed, ofOla] = [await tokenOf(ned, 'queries', 300), await tokenOf(ola, 'queries', 300)];
      const answers = async () => [(await ofNed.get('/api/auth/me')).status, (await ofOla.get('/api/auth/me')).status];
      const day = 86_400;
      clock.advance(29 * day);
      expect(await answers()).toEqual([200, 200]);
      await signIn('ned', {});
      clock.advance(29 * day);
      expect(await answers()).toEqual([200, 200]);
      clock.advance(2 * day);
      expect(await answers()).toEqual([401, 200]);
      expect((await ofNed.get('/api/auth/me')).body).toMatchObject({
        code: 'token_invalid',
        detail: expect.stringMatching(/^Sign in at the identity provider/) as string,
      });
      await signIn('ned', {});
      expect(await answers()).toEqual([200, 200]);
    });

    // Last: passport's strategies are those of the service that started last in this process.
    it('are those of the settings at the start, and never local ones', async () => {
      await signIn('jo', { groups: ['Chiefs'] });
      const kai = await signIn('kai', { groups: ['heads'] });
      const pat = await administrator(service, 'pat');
      const local = await pat.post('/api/admin/groups', { name: 'Locals' });
      await pat.send('PUT', `/api/admin/groups/${String(local.body?.['id'])}/members/${kai}`);
      const administratorsAmongThem = async () => {
        const select = `SELECT username FROM users WHERE username IN ('jo', 'kai') AND role = 'admin'`;
        const rows = await service.app.get(DataSource).query<{ username: string }[]>(select);
        return rows.map(({ username }) => username);
      };
      const afterStart = async (group: string) => {
        const settings = { ...environment, AUTH_OIDC_ADMINISTRATORS_GROUP: group };
        await (await startService(settings, { database: service.database, clock })).stop();
        return administratorsAmongThem();
      };
      expect(await administratorsAmongThem()).toEqual(['jo']);
      expect(await afterStart('HEADS')).toEqual(['kai']);
      expect(await afterStart('Locals')).toEqual([]);
      // As after a rollout, in which a former replica wrote last.
      await service.app.get(MaintenanceService).updateAdministrators();
      expect(await administratorsAmongThem()).toEqual(['jo']);
      expect(await afterStart('')).toEqual([]);
    });
  });
});
