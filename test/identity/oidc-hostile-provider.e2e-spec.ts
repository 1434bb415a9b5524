import { exportJWK } from 'jose';
import { FakeIdentityProvider, type Instead } from '../support/fakes/fake-identity-provider.js';
import { OidcBrowser } from '../support/service/oidc-browser.js';
import { refusalsOf, sharedOidcService } from '../support/service/oidc-service.js';
import { until } from '../support/service/until.js';

const SUB = 'f:1b2c3d:erin';
const HUGE = 'x'.repeat(10_000_000);

const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Instead =>
  (_, response) =>
    void response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(body));
const PAGE: Instead = (_, response) =>
  void response.writeHead(200, { 'Content-Type': 'text/html' }).end('<p>Sign in</p>');
const REDIRECT: Instead = (_, response) => void response.writeHead(302, { Location: 'http://127.0.0.1:9/' }).end();
/** A blank every 100 ms, so that the connection is never idle. */
const trickle: Instead = (_, response) => {
  response.writeHead(200, { 'Content-Type': 'application/json' });
  const drops = setInterval(() => response.write(' '), 100);
  response.once('close', () => clearInterval(drops));
};

describe('a provider that answers as it should not', () => {
  const oidc = sharedOidcService();
  const { service, provider, clock, timers } = oidc;
  const refused = refusalsOf(oidc);
  provider.instead.set('openid-configuration', json(503, {})); // from before the service starts
  afterEach(() => {
    provider.forge = null;
    timers.advance(10_000); // it is asked again
  });

  describe('and never had a document of use', () => {
    afterAll(() => provider.instead.clear());

    const document = (change: object) => json(200, { ...provider.metadata(), ...change });
    it.each<[string, () => Instead]>([
      ['10 MB', () => document({ more: HUGE })],
      ['a redirect', () => REDIRECT],
      ['a page', () => PAGE],
      ['an error', () => json(500, {})],
      ['nothing', () => json(404, {})],
      ['a list', () => json(200, [])],
      ['the document of another issuer', () => document({ issuer: 'https://evil.example.org' })],
      ['an issuer that differs in a stroke', () => document({ issuer: `${provider.issuer}/` })],
      ['two issuers', () => document({ issuer: [provider.issuer] })],
      ['no address for tokens', () => document({ token_endpoint: undefined })],
      ['a script for an address', () => document({ authorization_endpoint: 'javascript:alert(1)' })],
      ['a number for an address', () => document({ jwks_uri: 7 })],
    ])('after %s in its place', async (_, instead) => {
      provider.instead.set('openid-configuration', instead());
      await refused('provider_unavailable', (browser) => browser.turnedBack());
      expect(await service.ready()).toMatchObject({ status: 200, body: { parts: { sign_in_provider: 'degraded' } } });
    });
  });

  describe('and did once', () => {
    beforeAll(async () => {
      await new OidcBrowser(service).signIn(provider, { sub: SUB });
    });
    afterEach(() => provider.instead.clear());

    it.each<[string, 'token' | 'certs', Instead, string]>([
      ['10 MB', 'token', json(200, { id_token: HUGE }), 'provider_unavailable'],
      ['a redirect', 'token', REDIRECT, 'answer_invalid'],
      ['a page', 'token', PAGE, 'answer_invalid'],
      ['an error', 'token', json(500, {}), 'provider_unavailable'],
      ['a challenge', 'token', json(401, {}, { 'WWW-Authenticate': 'Bearer realm="x"' }), 'provider_refused'],
      ['a status of no use', 'token', json(304, ''), 'provider_unavailable'],
      ['a list', 'token', json(200, []), 'answer_invalid'],
      ['no token', 'token', json(200, { access_token: 'x', token_type: 'Bearer' }), 'answer_invalid'],
      [
        'a number for a token',
        'token',
        json(200, { access_token: 'x', token_type: 'Bearer', id_token: 7 }),
        'answer_invalid',
      ],
      ['prose for an error', 'token', json(400, { error: '<b>no</b>' }), 'provider_refused'],
      ['10 MB', 'certs', json(200, { keys: [HUGE] }), 'provider_unavailable'],
      ['a redirect', 'certs', REDIRECT, 'provider_unavailable'],
      ['a page', 'certs', PAGE, 'provider_unavailable'],
      ['an error', 'certs', json(500, {}), 'provider_unavailable'],
      ['a list', 'certs', json(200, []), 'provider_unavailable'],
      ['no keys', 'certs', json(200, {}), 'provider_unavailable'],
      ['texts for keys', 'certs', json(200, { keys: ['x'] }), 'provider_unavailable'],
      [
        'headers of 100 kB',
        'certs',
        json(200, { keys: [] }, { 'X-Long': 'x'.repeat(100_000) }),
        'provider_unavailable',
      ],
    ])('after %s in the place of its %s', async (_, path, instead, code) => {
      timers.advance(25 * 3_600_000); // no key is kept for so long
      provider.instead.set(path, instead);
      await refused(code, (browser) => browser.signIn(provider, { sub: SUB }));
    });

    it.each<[string, object]>([
      ['that cannot be read', { n: 7 }],
      ['of half the length', { n: 'x'.repeat(170) }],
    ])('after a key %s', async (_, change) => {
      timers.advance(25 * 3_600_000);
      const [kid = '', pair] = [...provider.keys].at(-1) ?? [];
      const key = { ...(pair && (await exportJWK(pair.publicKey))), kid, alg: 'RS256', use: 'sig', ...change };
      provider.instead.set('certs', json(200, { keys: [key] }));
      await refused('answer_invalid', (browser) => browser.signIn(provider, { sub: SUB }));
    });

    it('after silence, or an answer that trickles, in seconds', async () => {
      timers.advance(25 * 3_600_000);
      const late = [
        ['token', 'hang'],
        ['token', trickle],
        ['certs', trickle],
      ] as const;
      const waiting: Promise<void>[] = [];
      for (const [path, instead] of late) {
        const asked = () => provider.asked.filter((each) => each === path).length;
        const before = asked();
        provider.instead.clear();
        provider.instead.set(path, instead);
        waiting.push(refused('provider_unavailable', (browser) => browser.signIn(provider, { sub: SUB })));
        await until(() => asked() > before);
      }
      await Promise.all(waiting);
    });

    describe('beside a provider that somebody else runs', () => {
      const other = new FakeIdentityProvider(clock);
      beforeAll(() => other.listen());
      afterAll(() => other.close());

      it.each<[string, string, (answer: URLSearchParams) => void]>([
        ['as it came', 'wrong_issuer', () => undefined],
        ['without its issuer', 'wrong_issuer', (answer) => answer.delete('iss')],
        ['with the issuer of ours', 'provider_refused', (answer) => answer.set('iss', provider.issuer)],
      ])('its answer %s is redeemed nowhere', async (_, code, change) => {
        await refused(code, async (browser) => {
          const answer = other.signIn(await browser.start(), { sub: SUB });
          change(answer);
          return browser.finish(answer);
        });
        expect(other.asked).toEqual([]);
      });

      it('its signature is none', async () => {
        await new OidcBrowser(service).signIn(provider, { sub: SUB });
        timers.advance(10_000); // an unknown key is looked for again at once
        provider.forge = (payload) => other.token(() => payload);
        await refused('answer_invalid', (browser) => browser.signIn(provider, { sub: SUB }));
      });
    });

    it('is asked where it was before, whatever its document says now', async () => {
      provider.instead.set(
        'openid-configuration',
        json(200, { ...provider.metadata(), issuer: 'https://evil.example.org' }),
      );
      timers.advance(2 * 3_600_000);
      expect(Object.keys(await new OidcBrowser(service).signIn(provider, { sub: SUB }))).toEqual(['code']);
    });
  });
});
