import { exportSPKI, generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose';
import type { FakeIdentityProvider, KeyPair } from '../support/fakes/fake-identity-provider.js';
import type { Answer } from '../support/service/api-client.js';
import { OidcBrowser } from '../support/service/oidc-browser.js';
import { refusalsOf, rowCounts, sharedOidcService } from '../support/service/oidc-service.js';

const SUB = 'f:1b2c3d:erin';

describe('a sign-in at the provider that makes nothing, and says why', () => {
  const oidc = sharedOidcService({ TRUSTED_PROXY_HOPS: '1', AUTH_THROTTLE_PER_ADDRESS: '3' });
  const { service, provider, clock, timers, boss, client } = oidc;
  const refused = refusalsOf(oidc);
  const counts = rowCounts(service);

  beforeAll(async () => {
    await new OidcBrowser(service).signIn(provider, { sub: SUB });
  });
  let addresses = 0;
  const exchange = (token: string, address = `198.51.100.${(addresses += 1)}`): Promise<Answer> =>
    client.send('POST', '/api/auth/oidc/exchange', { token }, { 'X-Forwarded-For': address });
  const expectRefused = async (code: string, token: string): Promise<void> => {
    const before = await counts();
    const { body } = await exchange(token);
    expect([body?.['code'], await counts()]).toEqual([code, before]);
    const events = (await boss.get('/api/admin/audit?event=login_failed&limit=1')).body?.['items'];
    expect(events).toMatchObject([
      {
        request_id: body?.['request_id'],
        details: { by: 'exchange', reason: code, cause: expect.any(String) as string },
      },
    ]);
  };
  const changed = (change: (answer: URLSearchParams) => void) => async (browser: OidcBrowser) => {
    const answer = provider.signIn(await browser.start(), { sub: SUB });
    change(answer);
    return browser.finish(answer);
  };
  const instead = (error: string) => (answer: URLSearchParams) => {
    answer.delete('code');
    answer.set('error', error);
  };
  afterEach(() => {
    provider.ahead = 0;
    provider.forge = null;
    timers.advance(10_000); // it is asked again
  });

  it.each<[string, string, (answer: URLSearchParams) => void]>([
    ['who cancels', 'sign_in_cancelled', instead('access_denied')],
    ['another error there', 'provider_refused', instead('login_required')],
    ['another issuer', 'wrong_issuer', (a) => a.set('iss', 'https://evil.example.org')],
    ['two issuers', 'wrong_issuer', (a) => a.append('iss', 'https://evil.example.org')],
    ['no issuer, where one was promised', 'wrong_issuer', (a) => a.delete('iss')],
    ['an invented code', 'provider_refused', (a) => a.set('code', 'invented')],
    ['two codes', 'answer_invalid', (a) => a.append('code', 'another')],
    ['no code', 'answer_invalid', (a) => a.delete('code')],
  ])('after %s: %s', (_, code, change) => refused(code, changed(change)));

  it('who comes with another browser', () =>
    refused('other_browser', async (browser) => {
      const answer = provider.signIn(await browser.start(), { sub: SUB });
      return new OidcBrowser(service).finish(answer);
    }));

  it('who comes twice, with the cookie or without', async () => {
    const browser = new OidcBrowser(service);
    const answer = provider.signIn(await browser.start(), { sub: SUB });
    const cookies = [...browser.cookies];
    await browser.finish(answer);
    await refused('sign_in_replayed', () => browser.finish(answer));
    for (const [name, value] of cookies) browser.cookies.set(name, value);
    await refused('sign_in_replayed', () => browser.finish(answer));
  });

  it('who takes more than ten minutes', () =>
    refused('sign_in_expired', async (browser) => {
      const location = await browser.start();
      clock.advance(601);
      return browser.finish(provider.signIn(location, { sub: SUB }));
    }));

  it.each<[string, string, Parameters<FakeIdentityProvider['signIn']>[1]]>([
    ['of another issuer', 'answer_invalid', { iss: 'https://evil.example.org' }],
    ['for another client', 'answer_invalid', { aud: 'notebook' }],
    ['for two clients, of another', 'answer_invalid', { aud: ['grantline', 'notebook'], azp: 'notebook' }],
    ['of another sign-in', 'answer_invalid', { nonce: 'another' }],
    ['without nonce', 'answer_invalid', ({ nonce: _, ...usual }) => usual],
    ['without exp', 'answer_invalid', ({ exp: _, ...usual }) => usual],
    ['without subject', 'answer_invalid', ({ sub: _, ...usual }) => usual],
    ['with an empty subject', 'subject_invalid', { sub: '' }],
    ['with a subject of 256 characters', 'subject_invalid', { sub: 'x'.repeat(256) }],
    ['with a subject that no column holds', 'subject_invalid', { sub: 'erin\u0000' }],
    ['with a session that no column holds', 'answer_invalid', { sid: 'a\u0000' }],
    ['with a session of 3,000 characters', 'answer_invalid', { sid: 'x'.repeat(3_000) }],
    ['with a session that is a list', 'answer_invalid', { sid: ['x'] }],
    ['of a year ago', 'clocks_differ', ({ iat = 0, ...usual }) => ({ ...usual, iat: iat - 31_536_000 })],
  ])('after an ID token %s: %s', (_, code, claims) => refused(code, (browser) => browser.signIn(provider, claims)));

  it.each([
    [700, 'clocks_differ'],
    [-700, 'token_expired'],
  ])('while its clock is off by %d seconds', async (seconds, code) => {
    provider.ahead = seconds;
    await refused('clocks_differ', (browser) => browser.signIn(provider, { sub: SUB }));
    await expectRefused(code, await provider.token({ sub: SUB }));
  });

  const signed = (payload: JWTPayload, alg: string, kid: string, key: Parameters<SignJWT['sign']>[0]) =>
    new SignJWT(payload).setProtectedHeader({ alg, kid, typ: 'JWT' }).sign(key);
  /** Made before the provider is asked, whose answer is not waited for as long as that can take. */
  let another: KeyPair;
  beforeAll(async () => {
    another = await generateKeyPair('RS256');
  });
  it.each<[string, NonNullable<FakeIdentityProvider['forge']>]>([
    ['by another key under a known name', (payload, { kid }) => signed(payload, 'RS256', kid, another.privateKey)],
    ['by a key that nobody knows', (payload) => signed(payload, 'RS256', 'unknown', another.privateKey)],
    [
      'by the public key, as if it were a secret',
      async (payload, { kid, pair }) => signed(payload, 'HS256', kid, Buffer.from(await exportSPKI(pair.publicKey))),
    ],
    ['by nobody', (payload) => new UnsecuredJWT(payload).encode()],
  ])('after a signature %s', async (_, forge) => {
    provider.forge = forge;
    await refused('answer_invalid', (browser) => browser.signIn(provider, { sub: SUB }));
    await expectRefused('token_invalid', await provider.token({ sub: SUB }));
  });

  it('again and again, of which no more is recorded than the throttle lets through', async () => {
    const answer = provider.signIn(await new OidcBrowser(service).start(), { sub: SUB });
    const stranger = new OidcBrowser(service);
    for (let times = 0; times < 6; times += 1) {
      expect(await stranger.finish(answer)).toMatchObject({ error: 'other_browser' });
    }
    const recorded = await boss.get('/api/admin/audit?limit=20');
    const events = (recorded.body?.['items'] as Record<string, unknown>[]).filter(
      ({ address }) => address === stranger.address,
    );
    expect(events).toMatchObject([
      { event: 'login_throttled', details: { limit: 'sign-in-address' } },
      ...[1, 2, 3].map(() => ({ event: 'login_failed', details: { by: 'oidc', reason: 'other_browser' } })),
    ]);
    const own = new OidcBrowser(service);
    own.address = stranger.address;
    expect(await own.signIn(provider, { sub: SUB })).toEqual({ code: expect.any(String) as string });
  });

  it('with codes that the provider refuses, of which no more reach it than the throttle lets through', async () => {
    const browser = new OidcBrowser(service);
    const invented = async () => {
      const answer = provider.signIn(await browser.start(), { sub: SUB });
      answer.set('code', 'invented');
      return (await browser.finish(answer))['error'];
    };
    const redeemed = () => provider.asked.filter((path) => path === 'token').length;
    for (let times = 0; times < 5; times += 1)
      expect(await browser.signIn(provider, { sub: SUB })).toHaveProperty('code');
    provider.instead.set('token', (_, response) => response.writeHead(503).end());
    for (let times = 0; times < 4; times += 1) expect(await invented()).toBe('provider_unavailable');
    provider.instead.clear();
    const before = redeemed();
    for (let times = 0; times < 3; times += 1) expect(await invented()).toBe('provider_refused');
    for (let times = 0; times < 2; times += 1) expect(await invented()).toBe('too_many_requests');
    expect(redeemed() - before).toBe(3);
    expect(await browser.signIn(provider, { sub: SUB })).toMatchObject({ error: 'too_many_requests' });
    expect(await new OidcBrowser(service).signIn(provider, { sub: SUB })).toHaveProperty('code');
  });

  it('with invented codes of ours, of which no more is recorded than the throttle lets through', async () => {
    const address = '203.0.113.7';
    const invented = { code: 'invented', code_verifier: 'x'.repeat(43) };
    for (let times = 0; times < 6; times += 1) {
      const answer = await client.send('POST', '/api/auth/oidc/tokens', invented, { 'X-Forwarded-For': address });
      expect([answer.status, answer.body?.['code']]).toEqual([401, 'code_invalid']);
    }
    const { body } = await boss.get('/api/admin/audit?limit=20');
    expect((body?.['items'] as { address: string }[]).filter((event) => event.address === address)).toMatchObject([
      { event: 'login_throttled', details: { limit: 'sign-in-address' } },
      ...[1, 2, 3].map(() => ({ event: 'login_failed', details: { reason: 'code_invalid', cause: 'unknown' } })),
    ]);
  });

  it('with the code of another sign-in', () =>
    refused('provider_refused', async (browser) => {
      const stolen = provider.signIn(await new OidcBrowser(service).start(), { sub: SUB });
      const answer = provider.signIn(await browser.start(), { sub: 'mallory' });
      answer.set('code', stolen.get('code') ?? '');
      return browser.finish(answer);
    }));

  it.each<[string, string, unknown]>([
    ['none', 'name_missing', undefined],
    ['an empty text', 'name_missing', ''],
    ['a list', 'name_invalid', ['erin', 'admin']],
    ['a number', 'name_invalid', 7],
    ['200 characters', 'name_invalid', 'x'.repeat(200)],
    ['129 characters', 'name_invalid', 'x'.repeat(129)],
    ['control characters', 'name_invalid', 'ada\u0000'],
    ['half a character', 'name_invalid', 'ada\ud800'],
    ['invisible characters', 'name_invalid', 'ada\u200b'],
    ['blanks at an end', 'name_invalid', 'ada '],
    ['that of a service account', 'name_invalid', 'service-account-grantline'],
    ['that of the service on the engine', 'name_taken', 'grantline'],
    ['an administrator’s, who has a password', 'name_taken', 'admin'],
    ['the same in another case', 'name_taken', 'ADMIN'],
  ])('for a name that is %s: %s', (_, code, name) =>
    refused(code, (browser) =>
      browser.signIn(provider, {
        sub: `sub of ${String(name)}`.slice(0, 20).replace(/[^ -~]/g, ''),
        preferred_username: name,
      }),
    ),
  );

  it('for a name that another person has', () =>
    refused('name_taken', (browser) =>
      browser.signIn(provider, { sub: 'somebody else', preferred_username: 'erin.test' }),
    ));

  describe('with a token that a client shows', () => {
    type Usual = Parameters<typeof provider.token>[0];
    it.each<[string, string, Usual, Record<string, unknown>?]>([
      ['of another issuer', 'token_invalid', { iss: 'https://evil.example.org' }],
      ['for another client', 'token_wrong_audience', { aud: 'notebook' }],
      ['for nobody', 'token_wrong_audience', ({ aud: _, ...usual }) => usual],
      ['without exp', 'token_invalid', ({ exp: _, ...usual }) => usual],
      ['without iat', 'token_invalid', ({ iat: _, ...usual }) => usual],
      ['that has expired within the minute', 'token_expired', ({ iat = 0, ...usual }) => ({ ...usual, iat, exp: iat })],
      ['of a year ago', 'token_expired', ({ iat = 0, ...usual }) => ({ ...usual, iat: iat - 31_536_000 })],
      ['of eleven minutes ago', 'token_expired', ({ iat = 0, ...usual }) => ({ ...usual, iat: iat - 661 })],
      [
        'of next year',
        'clocks_differ',
        ({ iat = 0, ...usual }) => ({ ...usual, iat: iat + 31_536_000, exp: iat + 31_540_000 }),
      ],
      ['without subject', 'token_without_subject', ({ sub: _, ...usual }) => usual],
      ['with a subject of 256 characters', 'token_without_subject', { sub: 'x'.repeat(256) }],
      ['without name', 'name_missing', { preferred_username: undefined }],
      ['with a list for a name', 'name_invalid', { sub: 'new', preferred_username: ['erin'] }],
      ['with a name of a service account', 'name_invalid', { sub: 'new', preferred_username: 'service-account-x' }],
      ['with an administrator’s name', 'name_taken', { sub: 'new', preferred_username: 'admin' }],
      ['with a session that is a list', 'token_invalid', { sid: ['x'] }],
      ['of a program', 'token_of_program', { typ: 'Bearer', client_id: 'etl', sid: undefined }],
      ['of an application of Microsoft Entra', 'token_of_program', { idtyp: 'app' }],
      ['for refreshing', 'token_invalid', { typ: 'Refresh' }],
      ['of a sign-in here', 'token_invalid', { nonce: 'of a sign-in' }],
      ['for signing out', 'token_invalid', {}, { typ: 'logout+jwt' }],
    ])('%s: %s', async (_, code, claims, ...[header]) => {
      const named = (usual: JWTPayload) => ({ ...usual, sub: SUB });
      const made = typeof claims === 'function' ? (usual: JWTPayload) => claims(named(usual)) : { sub: SUB, ...claims };
      await expectRefused(code, await provider.token(made, header));
    });

    it.each(['', 'x', 'a.b', 'a.b.c', '.'.repeat(20_480)])('that is none, such as %.5s', (token) =>
      expectRefused('token_invalid', token),
    );

    it('of more than 20 kB', async () => {
      const large = await provider.token({
        sub: SUB,
        groups: Array.from({ length: 190 }, (_, i) => `group ${i} ${'x'.repeat(60)}`),
      });
      expect(large.length).toBeGreaterThan(16 * 1024);
      expect((await exchange(large)).status).toBe(200);
      expect((await exchange('x'.repeat(20_481))).body?.['code']).toBe('validation_failed');
      expect((await exchange('x'.repeat(30_000))).body?.['code']).toBe('payload_too_large');
    });

    it('a second time, however its signature is spelt', async () => {
      const token = await provider.token({ sub: SUB });
      const once = await Promise.all([1, 2, 3, 4].map(() => exchange(token)));
      expect(once.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401]);
      await expectRefused('token_used', token);
      expect((await exchange(`${token}\n`)).status).toBe(401);
    });

    it('while the provider’s keys cannot be had, which counts for nothing', async () => {
      timers.advance(25 * 3_600_000);
      provider.instead.set('certs', (_, response) => void response.writeHead(503).end());
      const token = await provider.token({ sub: SUB });
      for (let tries = 0; tries < 5; tries += 1) {
        expect(await exchange(token, '203.0.113.1')).toMatchObject({
          status: 503,
          body: { code: 'provider_unavailable' },
        });
      }
      provider.instead.clear();
      timers.advance(10_000);
      expect((await exchange(token, '203.0.113.1')).status).toBe(200);
    });

    it('after three that failed from one address, a good one included; success costs nothing', async () => {
      const from = '203.0.113.2';
      for (let times = 0; times < 5; times += 1) {
        expect((await exchange(await provider.token({ sub: SUB }), from)).status).toBe(200);
      }
      for (let tries = 0; tries < 3; tries += 1) expect((await exchange('x', from)).status).toBe(401);
      const throttled = await exchange(await provider.token({ sub: SUB }), from);
      expect([throttled.status, throttled.headers.get('ratelimit-policy')]).toEqual([
        429,
        '"exchange-address";q=3;w=900',
      ]);
      const { body } = await boss.get('/api/admin/audit?event=login_throttled&limit=1');
      expect(body?.['items']).toMatchObject([{ details: { limit: 'exchange-address' } }]);
    });
  });
});
