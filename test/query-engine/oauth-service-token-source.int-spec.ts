import { Registry } from 'prom-client';
import { Secret } from '../../src/kernel/secret.js';
import { VERSION } from '../../src/platform/operations/version.js';
import { TokenUnavailable } from '../../src/query-engine/domain/service-token.js';
import { OAuthServiceTokenSource } from '../../src/query-engine/infrastructure/oauth-service-token-source.js';
import { ServiceTokenMetrics } from '../../src/query-engine/query.metrics.js';
import { FakeKeycloak } from '../support/fakes/fake-keycloak.js';
import { FakeTimers } from '../support/fakes/fake-timers.js';
import { FIXED_RANDOM } from '../support/fakes/fixed-random.js';
import { LogBook } from '../support/fakes/log-book.js';
import { TestClock } from '../support/fakes/test-clock.js';
import { until } from '../support/service/until.js';

const EMPTY = 'service-account token is empty';

describe('OAuthServiceTokenSource', () => {
  let keycloak: FakeKeycloak;
  let timers: FakeTimers;
  let log: LogBook;
  let clock: TestClock;
  let registry: Registry;
  let tokens: OAuthServiceTokenSource;

  beforeEach(async () => {
    keycloak = new FakeKeycloak();
    timers = new FakeTimers();
    log = new LogBook();
    clock = new TestClock();
    registry = new Registry();
    const client = {
      tokenUrl: `${await keycloak.listen()}/protocol/openid-connect/token`,
      caFile: null,
      clientId: 'grantline',
      clientSecret: new Secret('grantline-secret'),
      scope: null,
    };
    tokens = new OAuthServiceTokenSource(client, timers, FIXED_RANDOM, clock, log, new ServiceTokenMetrics(registry));
  });
  afterEach(async () => {
    tokens.close();
    await keycloak.close();
  });

  const token = (n: number): string => FakeKeycloak.token(n);
  const asked = (): number => keycloak.requests.length;

  /** Resolves when the provider has been asked so often, and its answer has been taken. */
  async function renewedTo(n: number): Promise<void> {
    await until(async () => (await tokens.validToken()) === token(n));
  }

  it('asks once for however many wait', async () => {
    const all = await Promise.all(Array.from({ length: 50 }, () => tokens.validToken()));

    expect(new Set(all)).toEqual(new Set([token(1)]));
    expect(new Set(keycloak.headers.map((headers) => headers['user-agent']))).toEqual(
      new Set([`grantline/${VERSION}`]),
    );
    expect(Object.fromEntries(keycloak.requests[0] ?? [])).toEqual({
      grant_type: 'client_credentials',
      client_id: 'grantline',
      client_secret: 'grantline-secret',
    });
    expect(asked()).toBe(1);
  });

  it('renews 60 s before expiry, in the background, while the valid token is handed out', async () => {
    await tokens.validToken();
    timers.advance(238_999);
    expect(await tokens.validToken()).toBe(token(1));
    expect(asked()).toBe(1);

    let open: () => void = () => undefined;
    keycloak.gate = new Promise((resolve) => (open = resolve));
    timers.advance(1);
    expect(await tokens.validToken()).toBe(token(1));
    expect(await tokens.validToken()).toBe(token(1));
    open();
    await renewedTo(2);

    expect(asked()).toBe(2);
  });

  it('keeps a token fresh without any request', async () => {
    const stop = new AbortController();
    const keeping = tokens.keepFresh(stop.signal);
    await timers.untilWaiting();
    expect(timers.waits).toEqual([239_000]);

    timers.advance(239_000);
    await timers.untilWaiting();
    expect(asked()).toBe(2);
    stop.abort();
    await keeping;
  });

  it('goes on with the valid token while the provider is down, and backs off', async () => {
    await tokens.validToken();
    keycloak.instead = Array.from({ length: 3 }, () => ({ status: 503 }));
    timers.advance(240_000);
    expect(await tokens.validToken()).toBe(token(1));
    await logged(1);
    expect(await tokens.validToken()).toBe(token(1));
    expect(asked()).toBe(2);

    timers.advance(59_999);
    await expect(tokens.validToken()).rejects.toThrow(TokenUnavailable);
    await expect(tokens.validToken()).rejects.toThrow('a moment ago');
    expect(tokens.newestToken()).toBe(token(1));
    const expiry = (clock.now().getTime() + 299_000) / 1000; // the clock stands still here, and time of the token does not
    expect(await registry.metrics()).toContain(`grantline_service_token_expiry_timestamp_seconds ${expiry}\n`);
    expect(asked()).toBe(3);
    expect(log.at('error')).toEqual([EMPTY, EMPTY]);
  });

  it('waits as long as the provider wishes', async () => {
    keycloak.instead = [{ status: 429, headers: { 'Retry-After': '30' } }];
    await expect(tokens.validToken()).rejects.toThrow(TokenUnavailable);
    timers.advance(29_999);
    await expect(tokens.validToken()).rejects.toThrow('a moment ago');
    timers.advance(1);

    expect(await tokens.validToken()).toBe(token(1));
  });

  it.each([
    [
      'a wrong secret',
      { status: 401, body: { error: 'unauthorized_client' } },
      'status 401, unauthorized_client',
      'refused',
    ],
    ['no JSON', { body: '<html>' }, 'the answer is not a JSON object', 'invalid'],
    ['no token', { body: { expires_in: 300 } }, 'the answer holds no access_token', 'invalid'],
    ['an empty token', { body: { access_token: '' } }, 'the answer holds no access_token', 'invalid'],
    [
      'a token for another header',
      { body: { access_token: 'a\nb' } },
      'characters that no Bearer token has',
      'invalid',
    ],
    ['another kind of token', { body: { access_token: 'a', token_type: 'DPoP' } }, 'not of type Bearer', 'invalid'],
    ['a redirect', { status: 302, headers: { Location: 'http://elsewhere.invalid/' } }, 'status 302', 'unavailable'],
    ['a lost connection', { hangUp: true }, 'ECONNRESET', 'unavailable'],
  ])(
    'reports an empty token after %s, with its reason in a metric, without a secret',
    async (_, canned, message, reason) => {
      keycloak.instead = [canned];

      await expect(tokens.validToken()).rejects.toThrow(message);
      expect(log.at('error')).toEqual([EMPTY]);
      expect(JSON.stringify(log.lines)).not.toContain('grantline-secret');
      expect(await registry.metrics()).toContain(`grantline_service_token_failures_total{reason="${reason}"} 1`);
    },
  );

  it.each([0, -5, '300'])(
    'uses a token of invalid lifetime %j for waiting callers, and renews it after a second',
    async (life) => {
      keycloak.expiresIn = life;
      expect(await Promise.all([tokens.validToken(), tokens.validToken()])).toEqual([token(1), token(1)]);
      timers.advance(1_000);

      expect(await tokens.validToken()).toBe(token(2));
      expect(log.at('warn')).toEqual(['service-account token has no usable expires_in']);
    },
  );

  it('replaces a refused token once for all requests that were refused', async () => {
    const first = await tokens.validToken();
    const all = await Promise.all([tokens.validToken(first), tokens.validToken(first), tokens.validToken(first)]);

    expect(new Set(all)).toEqual(new Set([token(2)]));
    expect(await tokens.validToken(first)).toBe(token(2));
    expect(asked()).toBe(2);
  });

  it('ends the waiting of one caller alone', async () => {
    let open: () => void = () => undefined;
    keycloak.gate = new Promise((resolve) => (open = resolve));
    const caller = new AbortController();
    const leaving = tokens.validToken(null, caller.signal);
    const staying = tokens.validToken();
    caller.abort(new Error('left'));
    await expect(leaving).rejects.toThrow('left');
    open();

    expect(await staying).toBe(token(1));
    expect(asked()).toBe(1);
  });

  /** The background renewal has logged so often that there is no token. */
  async function logged(times: number): Promise<void> {
    await until(() => log.at('error').length >= times);
  }
});
