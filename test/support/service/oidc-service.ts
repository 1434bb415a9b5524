import { DataSource } from 'typeorm';
import { FakeIdentityProvider } from '../fakes/fake-identity-provider.js';
import { FakeTimers } from '../fakes/fake-timers.js';
import { TestClock } from '../fakes/test-clock.js';
import { sharedAdministrator } from './administrator.js';
import { ApiClient, type Answer, tokensOf } from './api-client.js';
import { OidcBrowser, RETURN_TO } from './oidc-browser.js';
import { startService, type TestService } from './service.js';

export interface OidcService {
  service: TestService;
  /** Of the service, once its specs begin. */
  environment: Record<string, string>;
  provider: FakeIdentityProvider;
  clock: TestClock;
  timers: FakeTimers;
  boss: ApiClient;
  client: ApiClient;
  /** A web client shows its code. */
  redeem: (browser: OidcBrowser, code: string | undefined, verifier?: string) => Promise<Answer>;
  /** Somebody with this name and subject at the provider. */
  signedIn: (name: string, claims: object) => Promise<ApiClient>;
  idOf: (person: ApiClient) => Promise<number>;
}

/** A service whose people sign in at a scripted provider, for the specs of a describe block. */
export function sharedOidcService(more: Record<string, string> = {}): OidcService {
  const clock = new TestClock();
  const timers = new FakeTimers();
  const provider = new FakeIdentityProvider(clock);
  const service = {} as TestService;
  const environment: Record<string, string> = {};
  beforeAll(async () => {
    Object.assign(environment, {
      AUTH_OIDC_ISSUER: await provider.listen(),
      AUTH_OIDC_CLIENT_ID: 'grantline',
      AUTH_OIDC_CLIENT_SECRET: provider.secret,
      AUTH_OIDC_RETURN_ORIGINS: `${RETURN_TO},https://other.example.org`,
      PUBLIC_URL: 'http://127.0.0.1:3000',
      ...more,
    });
    Object.assign(service, await startService(environment, { clock, timers }));
  });
  afterAll(async () => {
    await service.stop();
    await provider.close();
  });
  const client = new ApiClient(service);
  const redeem: OidcService['redeem'] = (browser, code, verifier = browser.verifier) =>
    client.post('/api/auth/oidc/tokens', { code, code_verifier: verifier });
  return {
    ...{ service, environment, provider, clock, timers, client },
    boss: sharedAdministrator(service),
    redeem,
    async signedIn(name, claims) {
      const browser = new OidcBrowser(service);
      const { code } = await browser.signIn(provider, { sub: name, preferred_username: name, ...claims });
      return client.as(tokensOf(await redeem(browser, code)).access_token);
    },
    idOf: async (person) => Number((await person.get('/api/auth/me')).body?.['id']),
  };
}

/** How much there is of what a sign-in makes. */
export function rowCounts(service: TestService): () => Promise<unknown> {
  const of = (table: string) => `(SELECT count(*)::int FROM ${table}) AS ${table}`;
  const tables = ['users', 'principal_names', 'oidc_people', 'oidc_codes', 'oidc_sessions', 'sessions'];
  return () => service.app.get(DataSource).query(`SELECT ${tables.map(of).join(', ')}`);
}

/** Sees an attempt to sign in refused by a code, which its audit event has as well; nothing was made. */
export function refusalsOf({ service, boss }: Pick<OidcService, 'service' | 'boss'>) {
  const counts = rowCounts(service);
  return async (code: string, attempt: (browser: OidcBrowser) => Promise<Record<string, string>>): Promise<void> => {
    const before = await counts();
    const back = await attempt(new OidcBrowser(service));
    expect(back).toEqual({ error: code, request_id: expect.any(String) as string });
    expect(await counts()).toEqual(before);
    const { body } = await boss.get('/api/admin/audit?event=login_failed&limit=20');
    const events = body?.['items'] as Record<string, unknown>[];
    expect(events.find((event) => event['request_id'] === back['request_id'])).toMatchObject({
      details: { by: 'oidc', reason: code },
    });
  };
}
