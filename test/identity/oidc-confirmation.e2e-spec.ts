import { type Answer, type ApiClient, passwordOf, signedUp, signIn, tokensOf } from '../support/service/api-client.js';
import { OidcBrowser } from '../support/service/oidc-browser.js';
import { sharedOidcService } from '../support/service/oidc-service.js';
import type { Claims } from '../support/fakes/fake-identity-provider.js';

const PAGE = '/people/7?ask=make-administrator';

describe('confirming at the identity provider', () => {
  const { service, provider, clock, boss, client, redeem } = sharedOidcService();

  // The clock leaves access tokens behind.
  beforeEach(async () => {
    Object.assign(boss, client.as((await signIn(client, 'admin')).access_token));
  });

  /** Somebody's browser, in which they came from the provider to the console. */
  const signedIn = async (name: string, claims: object = {}): Promise<OidcBrowser> => {
    const browser = new OidcBrowser(service);
    const location = await browser.go('/api/auth/oidc/console');
    const answer = provider.signIn(location, { sub: `sub of ${name}`, preferred_username: name, ...claims });
    await browser.go(`/api/auth/oidc/callback?${answer.toString()}`);
    return browser;
  };
  /** The same as an administrator, whose proof is too old. */
  const administrator = async (name: string): Promise<OidcBrowser> => {
    const browser = await signedIn(name);
    const { id } = (await browser.ask('GET', '/api/auth/me')).body as { id: number };
    expect((await boss.patch(`/api/admin/users/${id}`, { role: 'admin' })).status).toBe(200);
    clock.advance(301);
    return browser;
  };
  const start = async (browser: OidcBrowser): Promise<string> => {
    const { status, body } = await browser.ask('POST', '/api/auth/oidc/confirm', { to: PAGE });
    expect([status, Object.keys(body ?? {})]).toEqual([200, ['confirm_url']]);
    return String(body?.['confirm_url']);
  };
  const comeBack = async (browser: OidcBrowser, answer: URLSearchParams): Promise<URL> =>
    new URL(await browser.go(`/api/auth/oidc/callback?${answer.toString()}`));
  const confirm = async (browser: OidcBrowser, claims: Claims): Promise<URL> =>
    comeBack(browser, provider.signIn(await start(browser), claims));
  const isConfirmed = async (browser: OidcBrowser): Promise<unknown> => {
    const { body } = await browser.ask('GET', '/api/auth/console-session');
    return (body?.['account'] as Record<string, unknown> | null)?.['is_confirmed'];
  };
  let promoted = 0;
  const outcomeOf = ({ status, body }: Answer): unknown[] => [status, body?.['code'] ?? null];
  const promote = async (browser: OidcBrowser): Promise<unknown[]> => {
    const { id } = await signedUp(client, `promoted_${(promoted += 1)}`);
    return outcomeOf(await browser.ask('PATCH', `/api/admin/users/${id}`, { role: 'admin' }));
  };
  const REQUIRED = [403, 'reauthentication_required'];
  const events = async (event: string): Promise<Record<string, unknown>[]> =>
    (await boss.get(`/api/admin/audit?event=${event}&limit=200`)).body?.['items'] as Record<string, unknown>[];

  it('opens for five minutes what asks for a recent proof, and comes back to the same page', async () => {
    const ida = await administrator('ida');
    expect([await isConfirmed(ida), await promote(ida)]).toEqual([false, REQUIRED]);

    const location = await start(ida);
    expect(new URL(location).searchParams.get('max_age')).toBe('0');
    clock.advance(20);
    const back = await comeBack(ida, provider.signIn(location, { sub: 'sub of ida' }));
    expect(back.href).toBe(`http://127.0.0.1:3000${PAGE}`);
    expect([...ida.cookies.keys()]).toEqual(['__Host-grantline']);
    expect([await isConfirmed(ida), await promote(ida)]).toEqual([true, [200, null]]);
    const approval = await ida.ask('POST', '/api/admin/acl/approvals', { hash: 'a'.repeat(64) });
    expect(outcomeOf(approval)).toEqual([409, 'approval_not_awaited']);
    expect(await events('session_confirmed')).toEqual([
      expect.objectContaining({
        actor: expect.objectContaining({ name: 'ida' }) as object,
        subject: expect.objectContaining({ type: 'session' }) as object,
        details: { by: 'oidc' },
      }),
    ]);

    clock.advance(301);
    expect([await isConfirmed(ida), await promote(ida)]).toEqual([false, REQUIRED]);
  });

  it.each<[string, string, Claims]>([
    [
      'does not say when they signed in',
      'not_signed_in_anew',
      ({ auth_time: _, ...usual }) => ({ ...usual, sub: 'sub of kim' }),
    ],
    [
      'did not have them sign in anew',
      'not_signed_in_anew',
      ({ iat = 0, ...usual }) => ({ ...usual, iat, auth_time: iat - 30, sub: 'sub of kim' }),
    ],
    [
      'says it was in an hour',
      'not_signed_in_anew',
      ({ iat = 0, ...usual }) => ({ ...usual, iat, auth_time: iat + 3600, sub: 'sub of kim' }),
    ],
    ['vouches for somebody else', 'other_person', { sub: 'sub of eve', preferred_username: 'kim' }],
    ['vouches for nobody', 'other_person', { sub: '', preferred_username: 'kim' }],
  ])('changes nothing where the provider %s', async (_, code, claims) => {
    const kim = await administrator('kim');
    const accounts = (await boss.get('/api/admin/users')).body?.['total'];

    const back = await confirm(kim, claims);
    expect([back.pathname, back.searchParams.get('ask'), back.searchParams.get('error')]).toEqual([
      '/people/7',
      'make-administrator',
      code,
    ]);
    expect([await isConfirmed(kim), await promote(kim)]).toEqual([false, REQUIRED]);
    expect((await boss.get('/api/admin/users?q=eve')).body?.['total']).toBe(0);
    expect((await boss.get('/api/admin/users')).body?.['total']).toBe(Number(accounts) + 1); // who was not promoted
    expect((await events('login_failed'))[0]).toMatchObject({
      subject: { name: 'kim' },
      request_id: back.searchParams.get('request_id'),
      details: { by: 'oidc', reason: code },
    });
  });

  it('is of the session that began it alone', async () => {
    const [one, other] = [await administrator('lou'), await signedIn('lou')];
    clock.advance(301);
    await confirm(one, { sub: 'sub of lou' });
    expect([await isConfirmed(one), await isConfirmed(other)]).toEqual([true, false]);

    const answer = provider.signIn(await start(other), { sub: 'sub of lou' });
    clock.advance(301);
    expect((await comeBack(one, answer)).searchParams.get('error')).toBe('other_browser');
    expect([await isConfirmed(one), await isConfirmed(other)]).toEqual([false, false]);
  });

  it('is over with the session, and opens no other one', async () => {
    const mia = await administrator('mia');
    const answer = provider.signIn(await start(mia), { sub: 'sub of mia' });
    const flow = new Map([...mia.cookies].filter(([name]) => name !== '__Host-grantline'));
    await mia.ask('DELETE', '/api/auth/console-session');
    for (const [name, value] of flow) mia.cookies.set(name, value);
    expect((await comeBack(mia, answer)).searchParams.get('error')).toBe('session_ended');
    expect([await isConfirmed(mia), [...mia.cookies.keys()]]).toEqual([undefined, []]);
  });

  it('serves once, and not after ten minutes', async () => {
    const noa = await administrator('noa');
    const answer = provider.signIn(await start(noa), { sub: 'sub of noa' });
    const cookies = [...noa.cookies];
    expect((await comeBack(noa, answer)).searchParams.get('error')).toBeNull();
    clock.advance(301);
    for (const [name, value] of cookies) noa.cookies.set(name, value);
    expect((await comeBack(noa, answer)).searchParams.get('error')).toBe('sign_in_replayed');
    expect(await isConfirmed(noa)).toBe(false);

    const location = await start(noa);
    clock.advance(601);
    expect((await comeBack(noa, provider.signIn(location, { sub: 'sub of noa' }))).searchParams.get('error')).toBe(
      'sign_in_expired',
    );
    expect(await isConfirmed(noa)).toBe(false);
  });

  it('is no sign-in, and a sign-in without a password at the provider is no confirmation', async () => {
    const silent = await signedIn('ori', { auth_time: Math.floor(clock.now().getTime() / 1000) - 3600 });
    expect(await isConfirmed(silent)).toBe(false);
    expect(await isConfirmed(await signedIn('ori'))).toBe(true);
  });

  it('goes to no other site, and needs a session that began at the provider', async () => {
    const pia = await administrator('pia');
    for (const to of ['https://evil.example', '//evil.example', '/\\evil.example', '/\t/evil.example', 'me', '']) {
      expect(outcomeOf(await pia.ask('POST', '/api/auth/oidc/confirm', { to }))).toEqual([400, 'validation_failed']);
    }
    const byPassword = new OidcBrowser(service);
    await byPassword.ask('POST', '/api/auth/console-session', { username: 'admin', password: passwordOf('admin') });
    for (const refused of [
      await byPassword.ask('POST', '/api/auth/oidc/confirm', { to: PAGE }),
      await boss.post('/api/auth/oidc/confirm', { to: PAGE }),
    ]) {
      expect(outcomeOf(refused)).toEqual([404, 'not_found']);
    }
  });

  describe('of a session with tokens', () => {
    const agoOf = (seconds: number) => Math.floor(clock.now().getTime() / 1000) - seconds;
    const person = (auth_time: number | undefined) => ({ sub: 'sub of tom', preferred_username: 'tom', auth_time });
    const byCode = async (claims: Claims, more = {}): Promise<ApiClient> => {
      const browser = new OidcBrowser(service);
      const location = await browser.start(undefined, more);
      expect(new URL(location).searchParams.get('max_age')).toBe('max_age' in more ? '0' : null);
      const { code } = await browser.finish(provider.signIn(location, claims));
      return client.as(tokensOf(await redeem(browser, code)).access_token);
    };
    const byToken = async (claims: Claims): Promise<ApiClient> => {
      const { body } = await client.post('/api/auth/oidc/exchange', { token: await provider.token(claims) });
      return client.as(String(body?.['access_token']));
    };
    const makesToken = async (tom: ApiClient): Promise<unknown[]> => {
      const expires_at = new Date(clock.now().getTime() + 86_400_000).toISOString();
      return outcomeOf(await tom.post('/api/auth/tokens', { name: 'a program', scopes: ['queries'], expires_at }));
    };

    it('is asked for where somebody was signed in there already, and counts from the sign-in there on', async () => {
      for (const open of [byCode, byToken]) {
        for (const at of [agoOf(301), undefined]) expect(await makesToken(await open(person(at)))).toEqual(REQUIRED);
        const tom = await open(person(agoOf(290)));
        expect(await makesToken(tom)).toEqual([201, null]);
        clock.advance(11);
        expect(await makesToken(tom)).toEqual(REQUIRED);
      }
      expect(await makesToken(await byCode(person(agoOf(0)), { max_age: '0' }))).toEqual([201, null]);
      expect(await makesToken(await byCode(person(agoOf(301)), { max_age: '0' }))).toEqual(REQUIRED);
    });

    it('is given by a password as well, by who has one, and goes on with the next tokens', async () => {
      await signedUp(client, 'una');
      const browser = new OidcBrowser(service);
      await browser.ask('POST', '/api/auth/console-session', { username: 'una', password: passwordOf('una') });
      const { body } = await browser.ask('POST', '/api/auth/oidc/link', { current_password: passwordOf('una') });
      await comeBack(browser, provider.signIn(String(body?.['link_url']), { sub: 'sub of una' }));
      const app = new OidcBrowser(service);
      const { code } = await app.signIn(provider, { sub: 'sub of una', auth_time: agoOf(3600) });
      const first = tokensOf(await redeem(app, code));
      const next = tokensOf(await client.post('/api/auth/refresh', { refresh_token: first.refresh_token }));
      const una = client.as(next.access_token);
      expect(await makesToken(una)).toEqual(REQUIRED);
      expect((await una.post('/api/auth/console-session/confirm', { password: passwordOf('una') })).status).toBe(204);
      expect(await makesToken(una)).toEqual([201, null]);
      expect(await makesToken(client.as((await signIn(client, 'una')).access_token))).toEqual([201, null]);
    });
  });

  it('ends with the provider’s session of the last sign-in there', async () => {
    const quin = await administrator('quin');
    await confirm(quin, { sub: 'sub of quin', sid: 'the second' });
    const form = new URLSearchParams({ logout_token: await provider.logoutToken({ sub: 'x', sid: 'the second' }) });
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
    expect((await client.send('POST', '/api/auth/oidc/backchannel-logout', form.toString(), headers)).status).toBe(200);
    expect(await isConfirmed(quin)).toBeUndefined();
  });
});

describe('signing out of the console', () => {
  const { service, provider } = sharedOidcService();

  it('says where to go on at the provider', async () => {
    const browser = new OidcBrowser(service);
    const answer = provider.signIn(await browser.go('/api/auth/oidc/console'), {
      sub: 'rae',
      preferred_username: 'rae',
    });
    await browser.go(`/api/auth/oidc/callback?${answer.toString()}`);
    const { status, body, headers } = await browser.ask('DELETE', '/api/auth/console-session');
    expect([status, headers.get('clear-site-data'), browser.cookies.size]).toEqual([200, '"cookies", "storage"', 0]);
    const url = new URL(String(body?.['sign_out_url']));
    expect(url.origin + url.pathname).toBe(`${provider.issuer}/protocol/openid-connect/logout`);
    expect(url.searchParams.get('id_token_hint')).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
  });
});
