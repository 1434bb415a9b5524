import { generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose';
import { OidcStore } from '../../src/identity/oidc/oidc.store.js';
import { ApiClient, tokensOf } from '../support/service/api-client.js';
import { OidcBrowser } from '../support/service/oidc-browser.js';
import { sharedOidcService } from '../support/service/oidc-service.js';
import { until } from '../support/service/until.js';

const ROUTE = '/api/auth/oidc/backchannel-logout';

describe('signing out', () => {
  const { service, provider, clock, timers, boss, client, redeem } = sharedOidcService({
    AUTH_OIDC_RECHECK_MINUTES: '1',
  });

  const signedIn = async (sub: string, sid: string): Promise<ApiClient> => {
    const browser = new OidcBrowser(service);
    const { code } = await browser.signIn(provider, { sub, sid, preferred_username: sub });
    return client.as(tokensOf(await redeem(browser, code)).access_token);
  };
  const statuses = async (...clients: ApiClient[]) =>
    Promise.all(clients.map(async (each) => (await each.get('/api/auth/me')).status));
  const post = (body: string, type = 'application/x-www-form-urlencoded') =>
    client.send('POST', ROUTE, body, { 'Content-Type': type });
  const logout = (token: string) => post(new URLSearchParams({ logout_token: token }).toString());

  describe('because the provider ended it', () => {
    it('ends every session of the one there, and no other, from the next request on', async () => {
      const [one, tab, phone] = [
        await signedIn('ada', 'at work'),
        await signedIn('ada', 'at work'),
        await signedIn('ada', 'phone'),
      ];
      const other = await signedIn('bob', 'at home');
      const answer = await logout(await provider.logoutToken({ sub: 'ada', sid: 'at work' }));
      expect([answer.status, answer.body, answer.headers.get('cache-control')]).toEqual([200, null, 'no-store']);
      expect(await statuses(one, tab, phone, other)).toEqual([401, 401, 200, 200]);

      await logout(await provider.logoutToken({ sub: 'ada', sid: undefined }));
      expect(await statuses(phone, other)).toEqual([401, 200]);
      const { body } = await boss.get('/api/admin/audit?event=session_ended');
      expect(body?.['items']).toHaveLength(3);
      expect((body?.['items'] as object[])[0]).toMatchObject({ actor: null, details: { by: 'oidc' } });
    });

    it('ends a sign-in whose code is not exchanged yet', async () => {
      const browser = new OidcBrowser(service);
      const { code } = await browser.signIn(provider, { sub: 'cyd', sid: 'early', preferred_username: 'cyd' });
      expect((await logout(await provider.logoutToken({ sub: 'cyd', sid: 'early' }))).status).toBe(200);
      expect(await redeem(browser, code)).toMatchObject({ status: 401, body: { code: 'code_invalid' } });
    });

    it('ends a session that began with a shown token, which lives no longer than that, and has no refresh token', async () => {
      const token = await provider.token({ sub: 'ida', sid: 'shown', preferred_username: 'ida', typ: 'Bearer' });
      const { status, body } = await client.post('/api/auth/oidc/exchange', { token });
      expect([status, body]).toEqual([
        200,
        { access_token: expect.any(String) as string, token_type: 'bearer', expires_in: 300 },
      ]);
      const ida = client.as(String(body?.['access_token']));
      expect((await ida.get('/api/auth/me')).body).toMatchObject({ username: 'ida' });
      const [session] = (await ida.get('/api/auth/sessions')).body?.['items'] as Record<string, string>[];
      expect(Date.parse(session?.['expires_at'] ?? '') - clock.now().getTime()).toBe(300_000);
      await logout(await provider.logoutToken({ sub: 'ida', sid: 'shown' }));
      expect(await statuses(ida)).toEqual([401]);
    });

    it('opens none for what was issued before, by any road, and one for what was issued after', async () => {
      const person = { sub: 'kim', preferred_username: 'kim' };
      const exchange = async (claims: JWTPayload) => {
        const token = await provider.token({ ...person, ...claims });
        return (await client.post('/api/auth/oidc/exchange', { token })).body?.['code'] ?? 'opened';
      };
      const signIn = async (claims: JWTPayload) =>
        (await new OidcBrowser(service).signIn(provider, { ...person, ...claims }))['error'] ?? 'opened';
      const inConsole = async (claims: JWTPayload) => {
        const browser = new OidcBrowser(service);
        const answer = provider.signIn(await browser.go('/api/auth/oidc/console'), { ...person, ...claims });
        return (
          new URL(await browser.go(`/api/auth/oidc/callback?${answer.toString()}`)).searchParams.get('error') ??
          'opened'
        );
      };
      const roads = async (claims: JWTPayload) => [
        await exchange(claims),
        await signIn(claims),
        await inConsole(claims),
      ];
      const [opened, ended] = [Array(3).fill('opened'), ['token_invalid', 'session_ended', 'session_ended']];
      const before = { iat: Math.floor(clock.now().getTime() / 1000) };
      clock.advance(30);
      await logout(await provider.logoutToken({ sub: 'kim', sid: 'at work' }));
      const { body } = await boss.get('/api/admin/users?q=kim');
      expect([await roads({ ...before, sid: 'at work' }), body?.['items']]).toEqual([ended, []]);
      expect(await roads({ ...before, sid: 'at home' })).toEqual(opened);
      clock.advance(1);
      await logout(await provider.logoutToken({ sub: 'kim', sid: undefined }));
      expect(await roads({ ...before, sid: 'phone' })).toEqual(ended);
      clock.advance(1);
      expect(await roads({ sid: 'phone' })).toEqual(opened);
      expect(await exchange({ ...before, sub: 'len', preferred_username: 'len', sid: 'of len' })).toBe('opened');
    });

    it('knows the key that signed first', async () => {
      const dee = await signedIn('dee', 'rotated');
      timers.advance(10_000);
      await provider.rotate();
      expect((await logout(await provider.logoutToken({ sub: 'dee', sid: 'rotated' }))).status).toBe(200);
      expect(await statuses(dee)).toEqual([401]);
    });

    it('takes further fields, and nothing but one token in a form', async () => {
      const token = await provider.logoutToken({ sub: 'nobody' });
      expect((await post(`logout_token=${token}&hint=x`)).status).toBe(200);
      const again = await provider.logoutToken({ sub: 'nobody' });
      expect((await post(`logout_token=${again}&logout_token=${again}`)).status).toBe(400);
      expect((await post('')).status).toBe(400);
      expect((await post('x=1')).status).toBe(400);
      const json = await post(JSON.stringify({ logout_token: again }), 'application/json');
      expect([json.status, json.headers.get('accept')]).toEqual([415, 'application/x-www-form-urlencoded']);
    });

    const forged = (payload: JWTPayload, alg: string, kid: string, key: Parameters<SignJWT['sign']>[0]) =>
      new SignJWT(payload).setProtectedHeader({ alg, kid, typ: 'logout+jwt' }).sign(key);
    it.each<[string, () => Promise<string>]>([
      ['no token', () => Promise.resolve('x')],
      ['an ID token', () => provider.token({ sub: 'eve', sid: 'kept' })],
      ['an ID token that calls itself one', () => provider.token({ sub: 'eve', sid: 'kept' }, { typ: 'logout+jwt' })],
      ['a header of another type', () => provider.logoutToken({ sub: 'eve', sid: 'kept' }, { typ: 'JWT' })],
      ['another issuer', () => provider.logoutToken({ sub: 'eve', sid: 'kept', iss: 'https://evil.example.org' })],
      ['another client', () => provider.logoutToken({ sub: 'eve', sid: 'kept', aud: 'notebook' })],
      ['a nonce', () => provider.logoutToken({ sub: 'eve', sid: 'kept', nonce: 'x' })],
      ['no event', () => provider.logoutToken({ sub: 'eve', sid: 'kept', events: {} })],
      ['no id', () => provider.logoutToken({ sub: 'eve', sid: 'kept', jti: undefined })],
      ['an earlier hour', () => provider.logoutToken({ sub: 'eve', sid: 'kept', iat: 1_700_000_000, exp: 4e9 })],
      ['an end in the past', () => provider.logoutToken({ sub: 'eve', sid: 'kept', exp: 1_700_000_000 })],
    ])('is refused with %s, and ends nothing', async (_, token) => {
      const eve = await signedIn('eve', 'kept');
      expect(await logout(await token())).toMatchObject({ status: 400, body: { code: 'logout_token_invalid' } });
      expect(await statuses(eve)).toEqual([200]);
    });

    it('is refused with another signature, and a second time', async () => {
      const fay = await signedIn('fay', 'kept');
      const good = await provider.logoutToken({ sub: 'fay', sid: 'other' });
      const [, payload = ''] = good.split('.');
      const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as JWTPayload;
      const [kid = ''] = [...provider.keys.keys()].slice(-1);
      const { privateKey } = await generateKeyPair('RS256');
      for (const token of [
        await forged({ ...claims, sid: 'kept' }, 'RS256', kid, privateKey),
        await forged({ ...claims, sid: 'kept' }, 'RS256', 'unknown', privateKey),
        await forged({ ...claims, sid: 'kept' }, 'HS256', kid, Buffer.from('x'.repeat(32))),
        new UnsecuredJWT({ ...claims, sid: 'kept' }).encode(),
      ]) {
        expect((await logout(token)).status).toBe(400);
      }
      expect((await logout(good)).status).toBe(200);
      expect(await logout(good)).toMatchObject({ status: 400, body: { code: 'logout_token_invalid' } });
      expect(await statuses(fay)).toEqual([200]);
    });

    it('says that it cannot judge while the provider’s keys cannot be had', async () => {
      clock.advance(0);
      timers.advance(25 * 3_600_000);
      provider.instead.set('certs', (_, response) => void response.writeHead(503).end());
      const token = await provider.logoutToken({ sub: 'gil' });
      expect(await logout(token)).toMatchObject({ status: 503, body: { code: 'provider_unavailable' } });
      provider.instead.clear();
      timers.advance(10_000);
      expect((await logout(token)).status).toBe(200);
    });
  });

  describe('because the provider does not vouch for it any more', () => {
    const count = async (outcome: string): Promise<number> => {
      const found = new RegExp(`^grantline_oidc_rechecks_total\\{outcome="${outcome}"\\} (\\d+)`, 'm');
      return Number(found.exec(await service.metrics())?.[1] ?? 0);
    };
    /** Uses a session until the provider was asked for it. */
    const rechecked = async (user: ApiClient, outcome: string): Promise<void> => {
      const before = await count(outcome);
      clock.advance(61);
      expect(await statuses(user)).toEqual([200]); // no request waits
      await until(async () => (await count(outcome)) > before);
      expect(await count(outcome)).toBe(before + 1);
    };
    afterEach(() => {
      Object.assign(provider, { isRotating: false, changed: {} });
      provider.instead.clear();
      provider.leavers.clear();
    });

    it('ends, and no other', async () => {
      const [ned, pam] = [await signedIn('ned', 'of ned'), await signedIn('pam', 'of pam')];
      provider.leavers.add('ned');
      await rechecked(ned, 'ended');
      await until(async () => (await statuses(ned))[0] === 401);
      await rechecked(pam, 'renewed');
      expect(await statuses(pam)).toEqual([200]);
      const { body } = await boss.get('/api/admin/audit?event=session_ended&limit=1');
      expect(body?.['items']).toMatchObject([{ actor: null, request_id: null, details: { by: 'recheck' } }]);
      // It is no deactivation.
      provider.leavers.clear();
      expect(await statuses(await signedIn('ned', 'of ned'))).toEqual([200]);
    });

    it('goes on where it says nothing of use, and is asked for again', async () => {
      const quin = await signedIn('quin', 'of quin');
      for (const instead of [503, 401, 429]) {
        provider.instead.set(
          'token',
          (_, response) => void response.writeHead(instead).end('{"error":"invalid_client"}'),
        );
        await rechecked(quin, 'silent');
      }
      provider.instead.clear();
      provider.forge = (payload) => new UnsecuredJWT(payload).encode();
      await rechecked(quin, 'silent');
      provider.forge = null;
      await rechecked(quin, 'renewed');
      expect(await statuses(quin)).toEqual([200]);
    });

    it('goes on with each next refresh token, where one serves once; a lost one ends it', async () => {
      provider.isRotating = true;
      const ray = await signedIn('ray', 'of ray');
      for (let times = 0; times < 3; times += 1) await rechecked(ray, 'renewed');
      provider.refreshTokens.clear();
      await rechecked(ray, 'ended');
      await until(async () => (await statuses(ray))[0] === 401);
      expect(await statuses(await signedIn('ray', 'of ray'))).toEqual([200]);
    });

    it('ends where it vouches for somebody else', async () => {
      const sue = await signedIn('sue', 'of sue');
      provider.changed = { sub: 'mallory' };
      await rechecked(sue, 'renewed');
      await until(async () => (await statuses(sue))[0] === 401);
    });

    it('is not asked for while an open page only polls', async () => {
      const [browser, pam] = [new OidcBrowser(service), await signedIn('pam', 'of pam')];
      const location = await browser.go('/api/auth/oidc/console?to=%2Fme');
      const claims = { sub: 'uma', sid: 'of uma', preferred_username: 'uma' };
      await browser.go(`/api/auth/oidc/callback?${provider.signIn(location, claims).toString()}`);
      const cookie = browser.cookies.get('__Host-grantline') ?? '';
      const headers = { Cookie: `__Host-grantline=${cookie}`, 'Sec-Fetch-Site': 'same-origin' };
      const uma = (path: string) => client.send('GET', path, undefined, headers);
      const { id } = (await uma('/api/auth/me')).body as { id: number };
      await boss.patch(`/api/admin/users/${id}`, { role: 'admin' });
      await until(async () => (await count('renewed')) > 0);

      const before = await count('renewed');
      clock.advance(61);
      expect((await uma('/api/admin/acl/status')).status).toBe(200);
      await rechecked(pam, 'renewed');
      expect(await count('renewed')).toBe(before + 1);
      await uma('/api/auth/me');
      await until(async () => (await count('renewed')) > before + 1);
    });

    it('is asked for by one of many replicas', async () => {
      const tia = await signedIn('tia', 'of tia');
      const [session] = (await tia.get('/api/auth/sessions')).body?.['items'] as { id: string }[];
      const [store, before] = [service.app.get(OidcStore), clock.now()];
      clock.advance(1);
      const turns = await Promise.all(
        [1, 2, 3, 4].map(() => store.claimRecheck(session?.id ?? '', before, clock.now())),
      );
      expect(turns.filter((turn) => turn?.isDue)).toHaveLength(1);
    });
  });

  describe('here', () => {
    it('ends the session, and says where to go on at the provider', async () => {
      const hal = await signedIn('hal', 'of hal');
      const { status, body } = await hal.post('/api/auth/logout');
      expect([status, Object.keys(body ?? {})]).toEqual([200, ['sign_out_url']]);
      const url = new URL(String(body?.['sign_out_url']));
      expect(url.origin + url.pathname).toBe(`${provider.issuer}/protocol/openid-connect/logout`);
      const [, payload = ''] = (url.searchParams.get('id_token_hint') ?? '').split('.');
      expect(JSON.parse(Buffer.from(payload, 'base64url').toString())).toMatchObject({ sub: 'hal', sid: 'of hal' });
      expect(await statuses(hal)).toEqual([401]);
    });

    it('of a session that began with a shown token leaves the one there to whose it is; a deactivation ends it', async () => {
      const shown = async () => {
        const token = await provider.token({ sub: 'jo', preferred_username: 'jo' });
        return client.as(String((await client.post('/api/auth/oidc/exchange', { token })).body?.['access_token']));
      };
      expect((await (await shown()).post('/api/auth/logout')).status).toBe(204);
      const jo = await shown();
      const { id } = (await jo.get('/api/auth/me')).body as { id: number };
      await boss.patch(`/api/admin/users/${id}`, { is_active: false });
      expect(await statuses(jo)).toEqual([401]);
      const token = await provider.token({ sub: 'jo', preferred_username: 'jo' });
      expect(await client.post('/api/auth/oidc/exchange', { token })).toMatchObject({
        status: 403,
        body: { code: 'account_deactivated' },
      });
    });

    it('of a session that began with a password is as ever', async () => {
      const { access_token } = tokensOf(
        await client.post('/api/auth/login', { username: 'admin', password: 'the password of admin' }),
      );
      const { status, body } = await client.as(access_token).post('/api/auth/logout');
      expect([status, body]).toEqual([204, null]);
    });
  });
});
