import { type Answer, ApiClient, signedUp } from '../support/service/api-client.js';
import { FakeKeycloak } from '../support/fakes/fake-keycloak.js';
import { column, FakeTrino } from '../support/fakes/fake-trino.js';
import { NodeTimers } from '../../src/kernel/clock.js';
import { startService, type TestService } from '../support/service/service.js';
import { TcpProxy } from '../support/service/tcp-proxy.js';
import { until } from '../support/service/until.js';

const COLUMNS = [column('n', 'bigint')];

/** Ahead of the machine's own as far as a test wants, so that tokens end when it says so. */
class JumpingTimers extends NodeTimers {
  private ahead = 0;

  override now(): number {
    return super.now() + this.ahead;
  }

  jump(milliseconds: number): void {
    this.ahead += milliseconds;
  }
}

describe('Keycloak', () => {
  let engine: FakeTrino;
  let keycloak: FakeKeycloak;
  let proxy: TcpProxy;
  let service: TestService;
  let ana: ApiClient;
  const timers = new JumpingTimers();
  beforeAll(async () => {
    engine = new FakeTrino();
    engine.mode = { kind: 'verified', refusalOf: () => null };
    engine.answers('SELECT rows', { columns: COLUMNS, data: [[1]] }, { columns: COLUMNS, data: [[2]] });
    keycloak = new FakeKeycloak();
    proxy = await TcpProxy.to(await keycloak.listen());
    const { hostname, port } = new URL(await engine.listen());
    const environment = {
      SERVICE_QUERY_HOST: hostname,
      SERVICE_QUERY_PORT: port,
      SERVICE_QUERY_FORWARDED_PROTO: 'https',
      SERVICE_QUERY_JWT_ENABLED: 'true',
      SERVICE_QUERY_JWT_ISSUER_URL: proxy.url,
      SERVICE_QUERY_JWT_CLIENT_ID: 'grantline',
      SERVICE_QUERY_JWT_CLIENT_SECRET: keycloak.secret,
      QUERY_MAX_RUNNING_PER_USER: '15',
    };
    service = await startService(environment, { timers });
    const anonymous = new ApiClient(service.url);
    ana = anonymous.as((await signedUp(anonymous, 'ana')).access_token);
    await until(async () => (await service.ready()).body.parts['identity_provider'] === 'up');
  });
  afterAll(async () => {
    await service.stop();
    await proxy.down();
    await engine.close();
    await keycloak.close();
  });

  const submit = (): Promise<Answer> => ana.post('/api/queries', { sql: 'SELECT rows' });
  const rows = async (path: string): Promise<[number, unknown]> => {
    const { status, body } = await ana.get(`${path}/rows`);
    return [status, body?.['rows']];
  };

  /** What callers and probes see while there is no token. */
  async function expectRefusal(): Promise<void> {
    const refused = await submit();
    expect([refused.status, refused.body?.['code']]).toEqual([503, 'engine_unavailable']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    const { status, body } = await service.ready();
    expect([status, body.parts['identity_provider']]).toEqual([200, 'degraded']);
    const { ready, degraded } = await service.scraped();
    expect(ready).toBe(1);
    expect(degraded).toContain('identity_provider'); // and the engine, once it was asked without a token
    expect((await ana.get('/api/auth/me')).status).toBe(200);
  }

  /** Nothing was restarted. */
  async function expectRecovery(): Promise<void> {
    timers.jump(60_000); // the longest time for which the provider is not asked again
    await until(async () => (await submit()).status === 201);
    expect((await service.ready()).body.parts['identity_provider']).toBe('up');
  }

  it('that is gone is not missed while the token is valid; then running queries go on, and new ones are 503', async () => {
    const running = (await submit()).headers.get('location') ?? '';
    await proxy.down();
    expect((await submit()).status).toBe(201);

    timers.jump(300_000);
    await expectRefusal();
    expect(await rows(running)).toEqual([200, [['1']]]);

    await proxy.up();
    await expectRecovery();
  });

  it('that is slow lets queries wait, and those beyond ten seconds are 503', async () => {
    let answer = (): void => undefined;
    const slow = (): void => {
      keycloak.gate = new Promise((resolve) => (answer = resolve));
      timers.jump(300_000);
    };
    slow();
    const asked = keycloak.requests.length;
    const waiting = submit();
    await until(() => keycloak.requests.length > asked);
    answer();
    expect((await waiting).status).toBe(201);

    slow();
    await expectRefusal();
    keycloak.gate = null;
    answer();
    await expectRecovery();
  });

  it('that refuses our secret is asked seldom, with nothing of it in a log, and again once it takes it', async () => {
    const { secret } = keycloak;
    keycloak.secret = 'another secret of the client';
    timers.jump(300_000);
    await expectRefusal();
    const asked = keycloak.requests.length;
    for (let again = 0; again < 20; again++) expect((await submit()).status).toBe(503);
    expect(keycloak.requests.length - asked).toBeLessThan(5);
    expect(service.logLines.join('')).toContain('status 401, unauthorized_client');
    expect(service.logLines.join('')).not.toContain(secret);

    keycloak.secret = secret;
    await expectRecovery();
  });

  it('whose keys were rotated costs one new token, and no query', async () => {
    const running = (await submit()).headers.get('location') ?? '';
    const old = engine.requests.at(-1)?.headers.authorization ?? '';
    engine.mode = { kind: 'verified', refusalOf: (token) => (old.endsWith(token) ? 'Invalid signature' : null) };
    const asked = keycloak.requests.length;

    expect((await submit()).status).toBe(201);
    expect(await rows(running)).toEqual([200, [['1']]]);
    expect(keycloak.requests.length).toBe(asked + 1);
  });
});
