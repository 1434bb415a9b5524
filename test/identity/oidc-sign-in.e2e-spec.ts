import { registrant, tokensOf } from '../support/service/api-client.js';
import { OidcBrowser, RETURN_TO } from '../support/service/oidc-browser.js';
import { sharedOidcService } from '../support/service/oidc-service.js';
import { until } from '../support/service/until.js';

const SUB = 'f:1b2c3d:erin';

describe('signing in at the identity provider', () => {
  const { service, provider, clock, timers, boss, client, redeem } = sharedOidcService();

  it('is told to pages for signing in', async () => {
    expect((await client.get('/api/auth/oidc')).body).toEqual({
      enabled: true,
      name: new URL(provider.issuer).host,
      start_url: 'http://127.0.0.1:3000/api/auth/oidc/start',
      password_sign_in: true,
    });
  });

  it('makes an account without a password, once, and brings a code back that the web client exchanges', async () => {
    const browser = new OidcBrowser(service);
    const location = await browser.start();
    const asked = new URL(location);
    expect(asked.origin + asked.pathname).toBe(`${provider.issuer}/protocol/openid-connect/auth`);
    expect(Object.fromEntries(asked.searchParams)).toMatchObject({
      client_id: 'grantline',
      redirect_uri: 'http://127.0.0.1:3000/api/auth/oidc/callback',
      response_type: 'code',
      scope: 'openid profile email',
      code_challenge_method: 'S256',
    });
    const back = await browser.finish(provider.signIn(location, { sub: SUB, email: 'erin@example.org' }));
    expect(Object.keys(back)).toEqual(['code']);
    expect(browser.cookies.size).toBe(0);
    const answer = await redeem(browser, back['code']);
    expect([answer.status, answer.body?.['token_type']]).toEqual([200, 'bearer']);
    const me = await client.as(tokensOf(answer).access_token).get('/api/auth/me');
    expect(me.body).toMatchObject({ username: 'erin.test', email: 'erin@example.org', role: 'user', is_active: true });
    expect((await boss.get(`/api/admin/users/${String(me.body?.['id'])}`)).body).toMatchObject({
      source: 'oidc',
      has_password: false,
    });
    expect((await client.post('/api/auth/refresh', { refresh_token: tokensOf(answer).refresh_token })).status).toBe(
      200,
    );

    // Later the name means nothing: the person is known.
    const again = new OidcBrowser(service);
    const { code } = await again.signIn(provider, { sub: SUB, preferred_username: 'erin.married' });
    const { access_token } = tokensOf(await redeem(again, code));
    expect((await client.as(access_token).get('/api/auth/me')).body).toMatchObject({ username: 'erin.test' });
    expect((await boss.get('/api/admin/users?q=erin')).body?.['items']).toHaveLength(1);
  });

  it('lives twelve hours, however often it is refreshed', async () => {
    const browser = new OidcBrowser(service);
    const { code } = await browser.signIn(provider, { sub: SUB });
    const { access_token } = tokensOf(await redeem(browser, code));
    const { body } = await client.as(access_token).get('/api/auth/sessions');
    const [session] = body?.['items'] as { created_at: string; expires_at: string }[];
    const lived = Date.parse(session?.expires_at ?? '') - Date.parse(session?.created_at ?? '');
    expect(lived / 3_600_000).toBe(12);
  });

  it('gives tokens for a code once, to who has the verifier, within a minute', async () => {
    const browser = new OidcBrowser(service);
    const refusal = { status: 401, body: { code: 'code_invalid' } };
    const first = await browser.signIn(provider, { sub: SUB });
    expect((await redeem(browser, first['code'])).status).toBe(200);
    expect(await redeem(browser, first['code'])).toMatchObject(refusal);
    const second = await browser.signIn(provider, { sub: SUB });
    expect(await redeem(browser, second['code'], 'x'.repeat(43))).toMatchObject(refusal);
    expect(await redeem(browser, second['code'])).toMatchObject(refusal);
    const third = await browser.signIn(provider, { sub: SUB });
    clock.advance(61);
    expect(await redeem(browser, third['code'])).toMatchObject(refusal);
    expect(await redeem(browser, 'nobody-has-this')).toMatchObject(refusal);

    const { body } = await boss.get('/api/admin/audit?event=login_failed&limit=5');
    const [invented, ofAccount] = [null, { type: 'user', name: 'erin.test' }];
    expect(body?.['items']).toMatchObject(
      [
        ...[['unknown', invented] as const, ['expired', ofAccount] as const],
        ...[['unknown', invented] as const, ['verifier', ofAccount] as const, ['unknown', invented] as const],
      ].map(([cause, subject]) => ({ subject, details: { by: 'oidc', reason: 'code_invalid', cause } })),
    );
    expect(await service.metrics()).toMatch(/^grantline_oidc_sign_ins_total\{outcome="code_invalid"\} 5$/m);
  });

  it('leads nowhere but to the pages and origins of the settings', async () => {
    const start = async (returnTo: string) => {
      const query = new URLSearchParams({ return_to: returnTo, code_challenge: 'x'.repeat(43) });
      return (await client.get(`/api/auth/oidc/start?${query.toString()}`)).status;
    };
    for (const address of [
      'https://evil.example.org/',
      'https://app.example.org/',
      `${RETURN_TO}&next=https://evil.example.org`,
      RETURN_TO.replace('app.', 'APP.'),
      'https://app.example.org.evil.org/',
      'https://app.example.org@evil.org/',
      'https://me@app.example.org/',
      'http://app.example.org/',
      '//app.example.org/',
      '/console',
      'javascript:alert(1)',
      'https://app.example.org/#x',
      `https://app.example.org/${'x'.repeat(1000)}`,
    ]) {
      expect([address, await start(address)]).toEqual([address, 400]);
    }
    // The client follows the redirect, to where the provider of the tests has no page.
    for (const address of [RETURN_TO, 'https://other.example.org/any/page']) expect(await start(address)).toBe(404);
    expect((await client.get(`/api/auth/oidc/start?return_to=${encodeURIComponent(RETURN_TO)}`)).status).toBe(400);
    expect((await client.get('/api/auth/oidc/callback?code=1&state=invented')).status).toBe(400);
  });

  it('works in several tabs, of which five at most are under way', async () => {
    const browser = new OidcBrowser(service);
    const first = await browser.start();
    const others = [await browser.start(), await browser.start(), await browser.start(), await browser.start()];
    const [second = ''] = others;
    expect(Object.keys(await browser.finish(provider.signIn(first, { sub: SUB })))).toEqual(['code']);
    expect(Object.keys(await browser.finish(provider.signIn(second, { sub: SUB })))).toEqual(['code']);
    for (let tabs = 0; tabs < 4; tabs += 1) await browser.start();
    expect(browser.cookies.size).toBe(5);
  });

  it('does not open a cookie that was changed, or that belongs to another sign-in', async () => {
    const browser = new OidcBrowser(service);
    const [one, two] = [await browser.start(), await browser.start()];
    const [first = '', second = ''] = browser.cookies.keys();
    const [ofFirst = '', ofSecond = ''] = browser.cookies.values();
    browser.cookies.set(first, ofSecond).set(second, ofFirst.slice(0, -2));
    for (const location of [one, two]) {
      const back = await browser.finish(provider.signIn(location, { sub: SUB }));
      expect(back['error']).toBe('other_browser');
    }
  });

  it('goes on when the provider changes its key, also while its keys cannot be had', async () => {
    const signedIn = async () => Object.keys(await new OidcBrowser(service).signIn(provider, { sub: SUB }));
    expect(await signedIn()).toEqual(['code']);
    await provider.rotate();
    timers.advance(10_000);
    expect(await signedIn()).toEqual(['code']);
    provider.instead.set('certs', (_, response) => void response.writeHead(503).end());
    timers.advance(20 * 3_600_000);
    expect(await signedIn()).toEqual(['code']);
    timers.advance(5 * 3_600_000);
    expect(await signedIn()).toEqual(['error', 'request_id']);
    provider.instead.delete('certs');
    timers.advance(10_000);
    expect(await signedIn()).toEqual(['code']);
  });

  it('waits for a key that is newer than those of a moment ago, and asks for it once', async () => {
    await new OidcBrowser(service).signIn(provider, { sub: SUB });
    timers.advance(10_000);
    await provider.rotate();
    await new OidcBrowser(service).signIn(provider, { sub: SUB });
    await provider.rotate();
    provider.asked.length = 0;
    timers.waits.length = 0;
    const backs = Promise.all([1, 2, 3].map(() => new OidcBrowser(service).signIn(provider, { sub: SUB })));
    await until(() => timers.waits.length === 3);
    expect(provider.asked).not.toContain('certs');
    timers.advance(10_000);
    for (const back of await backs) expect(Object.keys(back)).toEqual(['code']);
    expect(provider.asked.filter((path) => path === 'certs')).toHaveLength(1);
  });

  it('needs no provider for the rest: degraded, ready, and back by itself', async () => {
    const { status } = await service.ready();
    expect(status).toBe(200);
    provider.instead.set('openid-configuration', (_, response) => void response.writeHead(503).end());
    provider.asked.length = 0;
    timers.advance(60_000);
    await untilAsked();
    await until(async () => (await service.ready()).body.parts['sign_in_provider'] === 'degraded');
    expect((await service.ready()).status).toBe(200);
    expect((await boss.get('/api/auth/me')).status).toBe(200);
    expect((await client.post('/api/auth/login', { username: 'admin', password: 'wrong' })).status).toBe(401);
    provider.instead.delete('openid-configuration');
    provider.asked.length = 0;
    timers.advance(60_000);
    await untilAsked();
    await until(async () => (await service.ready()).body.parts['sign_in_provider'] === 'up');
  });

  /** The watch waits again once it has its answer. */
  async function untilAsked(): Promise<void> {
    await until(() => provider.asked.length > 0);
    await timers.untilWaiting();
  }

  it('gives an account without a password to who has its name first, and to nobody afterwards', async () => {
    const made = await boss.post('/api/admin/users', { username: 'Grace.Hopper', role: 'user' });
    const signIn = (sub: string) =>
      new OidcBrowser(service).signIn(provider, { sub, preferred_username: 'Grace.Hopper' });
    expect(Object.keys(await signIn('grace'))).toEqual(['code']);
    expect((await signIn('mallory'))['error']).toBe('name_taken');
    const { body } = await boss.get(`/api/admin/audit?event=account_linked&subject=user:${String(made.body?.['id'])}`);
    expect((body?.['items'] as { event: string; details: object }[])[0]).toMatchObject({
      event: 'account_linked',
      details: { issuer: provider.issuer, subject: 'grace' },
    });
    await boss.patch(`/api/admin/users/${String(made.body?.['id'])}`, { is_active: false });
    expect((await signIn('grace'))['error']).toBe('account_deactivated');
  });

  it('does not give a deactivated account’s tokens for a code', async () => {
    const browser = new OidcBrowser(service);
    const { code } = await browser.signIn(provider, { sub: 'leaver', preferred_username: 'leaver' });
    const { body } = await boss.get('/api/admin/users?q=leaver');
    const [account] = body?.['items'] as { id: number }[];
    await boss.patch(`/api/admin/users/${String(account?.id)}`, { is_active: false });
    const answer = await redeem(browser, code);
    expect(answer).toMatchObject({ status: 403, body: { code: 'account_deactivated' } });
    const failures = await boss.get('/api/admin/audit?event=login_failed&limit=1');
    expect(failures.body?.['items']).toMatchObject([
      { request_id: answer.body?.['request_id'], details: { by: 'oidc', reason: 'account_deactivated' } },
    ]);
  });

  it('makes one account of many first sign-ins at once', async () => {
    for (let round = 0; round < 10; round += 1) {
      const name = `many.tabs.${round}`;
      const attempts = Array.from({ length: 8 }, () =>
        new OidcBrowser(service).signIn(provider, { sub: name, preferred_username: name }),
      );
      for (const back of await Promise.all(attempts)) expect(Object.keys(back)).toEqual(['code']);
      const { body } = await boss.get(`/api/admin/users?q=${name}`);
      expect(body?.['items']).toHaveLength(1);
    }
  });

  it('does not store an address that somebody else has', async () => {
    await client.post('/api/auth/register', registrant('first_one'));
    const browser = new OidcBrowser(service);
    const claims = { sub: 'second', preferred_username: 'second.one', email: 'first_one@example.org' };
    const { code } = await browser.signIn(provider, claims);
    const { access_token } = tokensOf(await redeem(browser, code));
    expect((await client.as(access_token).get('/api/auth/me')).body).toMatchObject({ email: '' });
  });

  it('is counted by what came of it', async () => {
    expect(await service.metrics()).toMatch(/^grantline_oidc_sign_ins_total\{outcome="signed_in"\} [1-9]/m);
    expect(await service.metrics()).toMatch(/^grantline_oidc_sign_ins_total\{outcome="name_taken"\} [1-9]/m);
  });
});
