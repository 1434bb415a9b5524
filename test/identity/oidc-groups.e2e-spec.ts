import { tokensOf } from '../support/service/api-client.js';
import { OidcBrowser } from '../support/service/oidc-browser.js';
import { sharedOidcService } from '../support/service/oidc-service.js';
import { until } from '../support/service/until.js';

describe('groups of people who sign in at the provider', () => {
  const { service, provider, clock, boss, client, redeem } = sharedOidcService({ AUTH_OIDC_GROUPS_CLAIM: 'groups' });

  /** @returns the account's id */
  const signIn = async (name: string, claims: object): Promise<number> => {
    const browser = new OidcBrowser(service);
    const { code } = await browser.signIn(provider, { sub: name, preferred_username: name, ...claims });
    const { access_token } = tokensOf(await redeem(browser, code));
    return Number((await client.as(access_token).get('/api/auth/me')).body?.['id']);
  };
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
});
