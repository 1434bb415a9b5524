import { exportSPKI, generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose';
import type { FakeIdentityProvider } from '../support/fakes/fake-identity-provider.js';
import { OidcBrowser } from '../support/service/oidc-browser.js';
import { refusalsOf, sharedOidcService } from '../support/service/oidc-service.js';

const SUB = 'f:1b2c3d:erin';

describe('a sign-in at the provider that makes nothing, and says why', () => {
  const oidc = sharedOidcService();
  const { service, provider, clock, timers } = oidc;
  const refused = refusalsOf(oidc);

  beforeAll(async () => {
    await new OidcBrowser(service).signIn(provider, { sub: SUB });
  });
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

  it.each([600, -600])('while its clock is off by %d seconds', async (seconds) => {
    provider.ahead = seconds;
    await refused('clocks_differ', (browser) => browser.signIn(provider, { sub: SUB }));
  });

  const signed = (payload: JWTPayload, alg: string, kid: string, key: Parameters<SignJWT['sign']>[0]) =>
    new SignJWT(payload).setProtectedHeader({ alg, kid, typ: 'JWT' }).sign(key);
  it.each<[string, NonNullable<FakeIdentityProvider['forge']>]>([
    [
      'by another key under a known name',
      async (payload, { kid }) => signed(payload, 'RS256', kid, (await generateKeyPair('RS256')).privateKey),
    ],
    [
      'by a key that nobody knows',
      async (payload) => signed(payload, 'RS256', 'unknown', (await generateKeyPair('RS256')).privateKey),
    ],
    [
      'by the public key, as if it were a secret',
      async (payload, { kid, pair }) => signed(payload, 'HS256', kid, Buffer.from(await exportSPKI(pair.publicKey))),
    ],
    ['by nobody', (payload) => new UnsecuredJWT(payload).encode()],
  ])('after a signature %s', async (_, forge) => {
    provider.forge = forge;
    await refused('answer_invalid', (browser) => browser.signIn(provider, { sub: SUB }));
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
});
