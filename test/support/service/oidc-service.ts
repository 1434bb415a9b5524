import { FakeIdentityProvider } from '../fakes/fake-identity-provider.js';
import { FakeTimers } from '../fakes/fake-timers.js';
import { TestClock } from '../fakes/test-clock.js';
import { sharedAdministrator } from './administrator.js';
import { ApiClient, type Answer } from './api-client.js';
import type { OidcBrowser } from './oidc-browser.js';
import { startService, type TestService } from './service.js';

export interface OidcService {
  service: TestService;
  provider: FakeIdentityProvider;
  clock: TestClock;
  timers: FakeTimers;
  boss: ApiClient;
  client: ApiClient;
  /** A web client shows its code. */
  redeem: (browser: OidcBrowser, code: string | undefined, verifier?: string) => Promise<Answer>;
}

/** A service whose people sign in at a scripted provider, for the specs of a describe block. */
export function sharedOidcService(more: Record<string, string> = {}): OidcService {
  const clock = new TestClock();
  const timers = new FakeTimers();
  const provider = new FakeIdentityProvider(clock);
  const service = {} as TestService;
  beforeAll(async () => {
    const environment = {
      AUTH_OIDC_ISSUER: await provider.listen(),
      AUTH_OIDC_CLIENT_ID: 'grantline',
      AUTH_OIDC_CLIENT_SECRET: provider.secret,
      AUTH_OIDC_RETURN_ORIGINS: 'https://app.example.org,https://other.example.org',
      PUBLIC_URL: 'http://127.0.0.1:3000',
      ...more,
    };
    Object.assign(service, await startService(environment, { clock, timers }));
  });
  afterAll(async () => {
    await service.stop();
    await provider.close();
  });
  const client = new ApiClient(service);
  return {
    ...{ service, provider, clock, timers, client },
    boss: sharedAdministrator(service),
    redeem: (browser, code, verifier = browser.verifier) =>
      client.post('/api/auth/oidc/tokens', { code, code_verifier: verifier }),
  };
}
