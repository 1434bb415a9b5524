import { type ApiClient, passwordOf, signedUp, tokensOf } from '../support/service/api-client.js';
import { OidcBrowser } from '../support/service/oidc-browser.js';
import { sharedOidcService } from '../support/service/oidc-service.js';
import { until } from '../support/service/until.js';

describe('memberships by a claim', () => {
  const { service, provider, clock, boss, client, signedIn, idOf } = sharedOidcService({
    AUTH_OIDC_GROUPS_CLAIM: 'groups',
    AUTH_OIDC_ADMINISTRATORS_GROUP: 'Chiefs',
    AUTH_OIDC_RECHECK_MINUTES: '1',
  });

  /** @returns the account's id */
  const signIn = async (name: string, claims: object): Promise<number> => idOf(await signedIn(name, claims));
  const groupsOf = async (id: number) =>
    ((await boss.get(`/api/admin/groups?member=${id}`)).body?.['items'] as { name: string }[])
      .map(({ name }) => name)
      .toSorted();
  /** How often the provider's answers to a recheck were followed. */
  const answered = async () =>
    / \d+$/m.exec(/^.*rechecks_total\{outcome="renewed"\}.*$/m.exec(await service.metrics())?.[0] ?? '')?.[0];

  it('follow what the provider said last, by whichever road something older comes later', async () => {
    const id = await signIn('una', { groups: ['Chiefs', 'ops'] });
    const older = { iat: Math.floor(clock.now().getTime() / 1000) };
    const claims = { sub: 'una', preferred_username: 'una', groups: ['Chiefs', 'ops'], ...older };
    clock.advance(30);
    const una = await signedIn('una', { groups: ['ops'] });
    const now = async () => [await groupsOf(id), (await boss.get(`/api/admin/users/${id}`)).body?.['role']];
    const token = await provider.token({ ...claims, typ: 'Bearer' });
    expect((await client.post('/api/auth/oidc/exchange', { token })).status).toBe(200);
    expect(await now()).toEqual([['ops'], 'user']);
    await signIn('una', claims);
    expect(await now()).toEqual([['ops'], 'user']);
    provider.changed = claims;
    const before = await answered();
    clock.advance(61);
    await una.get('/api/auth/me');
    await until(async () => (await answered()) !== before);
    expect(await now()).toEqual([['ops'], 'user']);
    provider.changed = {};
    await signIn('una', { groups: ['Chiefs'] });
    expect(await now()).toEqual([['Chiefs'], 'admin']);
  });

  describe('where the provider says nothing more', () => {
    /** Of somebody with a password, who signed in at the provider once. */
    const linked = async (name: string, claims: object) => {
      const { id } = await signedUp(client, name);
      const browser = new OidcBrowser(service);
      await browser.ask('POST', '/api/auth/console-session', { username: name, password: passwordOf(name) });
      const { body } = await browser.ask('POST', '/api/auth/oidc/link', { current_password: passwordOf(name) });
      const answer = provider.signIn(String(body?.['link_url']), { sub: name });
      await browser.go(`/api/auth/oidc/callback?${answer.toString()}`);
      return { id, there: await signedIn(name, claims) };
    };
    const byPassword = async (name: string) =>
      client.as(
        tokensOf(await client.post('/api/auth/login', { username: name, password: passwordOf(name) })).access_token,
      );
    const exchanged = async (claims: object) => {
      const token = await provider.token({ typ: 'Bearer', ...claims });
      return client.as(String((await client.post('/api/auth/oidc/exchange', { token })).body?.['access_token']));
    };
    const used = async (person: ApiClient) => expect((await person.get('/api/auth/me')).status).toBe(200);

    it('end for who works by a linked password', async () => {
      const { id, there } = await linked('wim', { groups: ['Chiefs', 'ops'] });
      await there.post('/api/auth/logout');
      const wim = await byPassword('wim');
      await used(wim);
      clock.advance(50);
      await used(await byPassword('wim'));
      expect(await groupsOf(id)).toEqual(['Chiefs', 'ops']);
      clock.advance(11);
      await used(wim);
      await until(async () => (await groupsOf(id)).length === 0);
      expect((await boss.get(`/api/admin/users/${id}`)).body?.['role']).toBe('user');
      await signedIn('wim', { groups: ['ops'] });
      expect(await groupsOf(id)).toEqual(['ops']);
    });

    it('are asked for by a session there that rests, and end with it', async () => {
      const { id } = await linked('xan', { groups: ['Chiefs', 'ops'] });
      const xan = await byPassword('xan');
      provider.changed = { groups: ['ops'] };
      clock.advance(61);
      await used(xan);
      await until(async () => (await groupsOf(id)).length === 1);
      provider.changed = {};
      provider.instead.set('token', (_, response) => void response.writeHead(503).end('{}'));
      const asked = provider.asked.length;
      clock.advance(61);
      await used(xan);
      await until(() => provider.asked.length > asked);
      provider.instead.clear();
      expect(await groupsOf(id)).toEqual(['ops']); // an outage ends none
      provider.leavers.add('xan');
      clock.advance(61);
      await used(xan);
      await until(async () => (await groupsOf(id)).length === 0);
      provider.leavers.clear();
    });

    it('end for who shows tokens that do not name them, and stay for as long as one that does', async () => {
      const yves = { sub: 'yves', preferred_username: 'yves' };
      const now = Math.floor(clock.now().getTime() / 1000);
      const named = await exchanged({ ...yves, groups: ['ops'], exp: now + 120 });
      const id = await idOf(named);
      clock.advance(90);
      await used(named);
      await used(await exchanged(yves));
      expect(await groupsOf(id)).toEqual(['ops']);
      clock.advance(61);
      await used(await exchanged(yves));
      await until(async () => (await groupsOf(id)).length === 0);
    });
  });
});
