import { HealthRegistry } from '../../src/platform/operations/health.js';
import { EngineConnections } from '../../src/query-engine/engine-connections.service.js';
import { EngineProbe } from '../../src/query-engine/engine-probe.service.js';
import { ApiClient, signedUp } from '../support/service/api-client.js';
import { FakeKeycloak } from '../support/fakes/fake-keycloak.js';
import { failed, FakeTrino } from '../support/fakes/fake-trino.js';
import { startService, type TestService } from '../support/service/service.js';
import { until } from '../support/service/until.js';

describe('the engine at the start', () => {
  let engine: FakeTrino;
  let keycloak: FakeKeycloak;
  let service: TestService | null = null;
  let issuer: string;
  let address: URL;

  beforeEach(async () => {
    engine = new FakeTrino();
    keycloak = new FakeKeycloak();
    address = new URL(await engine.listen());
    issuer = await keycloak.listen();
  });
  afterEach(async () => {
    await service?.stop();
    service = null;
    await engine.close();
    await keycloak.close();
  });

  async function started(environment: Record<string, string> = {}): Promise<TestService> {
    service = await startService({
      SERVICE_QUERY_HOST: address.hostname,
      SERVICE_QUERY_PORT: address.port,
      SERVICE_QUERY_FORWARDED_PROTO: 'https',
      SERVICE_QUERY_JWT_ENABLED: 'true',
      SERVICE_QUERY_JWT_ISSUER_URL: issuer,
      SERVICE_QUERY_JWT_CLIENT_ID: 'grantline',
      SERVICE_QUERY_JWT_CLIENT_SECRET: 'grantline-secret',
      ...environment,
    });
    return service;
  }

  /** The log lines with that text, once there are any. */
  async function logged(text: string): Promise<Record<string, unknown>> {
    const found = () => service?.logLines.find((line) => line.includes(text));
    await until(() => found() !== undefined);
    return JSON.parse(found() ?? '') as Record<string, unknown>;
  }

  async function submits({ url }: TestService): Promise<unknown> {
    const stranger = new ApiClient(url);
    const { access_token } = await signedUp(stranger, 'ana');
    const { status, body } = await stranger.as(access_token).post('/api/queries', { sql: 'SELECT 1' });
    return [status, body?.['code'] ?? null];
  }

  it('is checked for the user headers, and confirmed', async () => {
    engine.mode = { kind: 'verified', refusalOf: () => null };
    const running = await started();
    await until(() => engine.statements.filter(({ cancelled }) => cancelled).length === 2);
    expect(engine.statements.map(({ sql }) => sql)).toEqual(['SELECT current_user', 'SELECT current_catalog']);
    expect(running.logLines.join('')).not.toContain('"level":"error"');
    expect(await submits(running)).toEqual([201, null]);
    expect(await running.metrics()).toMatch(/^grantline_engine_identity_mismatch 0$/m);
    expect((await running.app.get(HealthRegistry).report()).parts).toMatchObject({
      engine: 'up',
      identity_provider: 'up',
    });
  });

  it('hears of it when the service stops: its own statements end there', async () => {
    engine.mode = { kind: 'verified', refusalOf: () => null };
    engine.answers('SELECT slow', { after: new Promise(() => undefined) });
    const running = await started();
    const executing = running.app.get(EngineConnections).readRows('SELECT slow');
    const slow = () => engine.statements.find(({ sql }) => sql === 'SELECT slow');
    await until(() => slow()?.newest === 0);
    service = null;
    const [ended] = await Promise.allSettled([executing, running.stop()]);

    expect(ended).toMatchObject({ reason: { message: 'the cursor is closed' } });
    expect(slow()?.cancelled).toBe(true);
  });

  it.each([
    ['Entra', '/tenant/v2.0', '/tenant/oauth2/v2.0/token', 'api://trino/.default', 'azp'],
    ['Okta', '/oauth2/default', '/oauth2/default/v1/token', 'trino', 'cid'],
    ['authentik', '/application/o/grantline/', '/application/o/token/', 'trino', 'azp'],
  ])('gets the token of a provider like %s', async (_, issuerPath, tokenPath, scope, clientClaim) => {
    const { origin } = new URL(issuer);
    Object.assign(keycloak, { tokenPath, requiredScope: scope });
    keycloak.claims = { iss: origin + issuerPath, [clientClaim]: 'grantline', sub: 'b6d1-42', aud: 'trino' };
    engine.mode = {
      kind: 'verified',
      refusalOf: (token) => (token === FakeKeycloak.token(1, keycloak.claims) ? null : 'no'),
    };
    const running = await started({
      SERVICE_QUERY_JWT_ISSUER_URL: origin + issuerPath,
      SERVICE_QUERY_JWT_TOKEN_URL: origin + tokenPath,
      SERVICE_QUERY_JWT_SCOPE: scope,
      SERVICE_QUERY_JWT_AUDIENCE: 'trino',
      SERVICE_QUERY_USER: 'b6d1-42',
    });
    await until(() => engine.statements.length >= 2);

    expect(await submits(running)).toEqual([201, null]);
    expect(running.logLines.join('')).not.toContain('"level":"error"');
  });

  it('that runs statements as another user is logged, and gets no SQL', async () => {
    engine.mode = { kind: 'verified', refusalOf: () => null };
    const running = await started({ SERVICE_QUERY_USER: 'other-user' });
    engine.answers('SELECT current_user', {
      columns: [{ name: 'u', type: 'varchar' }],
      data: [['service-account-grantline']],
    });

    expect(await logged('the engine runs statements as another user')).toMatchObject({
      level: 'error',
      msg: 'ENGINE_IDENTITY_MISMATCH',
      expected: 'other-user',
      seen: 'service-account-grantline',
    });
    expect(await running.metrics()).toMatch(/^grantline_engine_identity_mismatch 1$/m);
    expect(await submits(running)).toEqual([503, 'engine_unavailable']);
    expect(running.logLines.join('')).toContain(
      'preferred_username of the service-account token is not SERVICE_QUERY_USER',
    );
  });

  it('that silently ignores our headers is detected, and runs no SQL as the service', async () => {
    engine.mode = { kind: 'verified', refusalOf: () => null };
    engine.alternateHeader = null;
    const running = await started();

    expect(await logged('ENGINE_IDENTITY_MISMATCH')).toMatchObject({
      reason: 'the engine does not read X-Query headers',
    });
    expect(await submits(running)).toEqual([503, 'engine_unavailable']);
    expect(engine.statements.map(({ sql }) => sql)).not.toContain('SELECT 1');
  });

  it('may be in trouble: the service starts, and logs it', async () => {
    engine.instead = Array.from({ length: 10 }, () => ({ method: 'POST', status: 500 }));
    const running = await started();
    await logged('engine identity check failed');

    expect((await running.app.get(HealthRegistry).report()).status).toBe('degraded');
  });

  it('is never asked without a token while tokens are on: an empty one is logged', async () => {
    keycloak.secret = 'another-secret';
    const running = await started();

    expect(await logged('service-account token is empty')).toMatchObject({ level: 'error' });
    expect(await submits(running)).toEqual([503, 'engine_unavailable']);
    expect(engine.requests).toEqual([]);
    expect(running.logLines.join('')).not.toContain('grantline-secret');
  });

  it('gets no Bearer header while tokens are off, and a name of the service all the same', async () => {
    const running = await started({ SERVICE_QUERY_JWT_ENABLED: 'false', SERVICE_QUERY_FORWARDED_PROTO: '' });

    expect(await submits(running)).toEqual([201, null]);
    expect(engine.requests.every(({ headers }) => headers.authorization === undefined)).toBe(true);
    expect(engine.requests.every(({ headers }) => headers['x-query-original-user'] === 'grantline')).toBe(true);
    expect(keycloak.requests).toEqual([]);
  });

  it('gets no SQL while impersonation is off', async () => {
    expect(await submits(await started({ SERVICE_QUERY_IMPERSONATION_ENABLED: 'false' }))).toEqual([
      403,
      'impersonation_disabled',
    ]);
  });

  it('need not be there at all', async () => {
    service = await startService();

    expect(await submits(service)).toEqual([503, 'engine_unavailable']);
    expect(await service.app.get(EngineProbe).rulesInForce('grantline_rules_1')).toBe('unreachable');
  });

  it('answers the sync which rules are in force', async () => {
    const running = await started({ SERVICE_QUERY_JWT_ENABLED: 'false', SERVICE_QUERY_FORWARDED_PROTO: '' });
    const probe = running.app.get(EngineProbe);
    engine.answers('SET SESSION grantline_rules_1 = true', failed('INVALID_SESSION_PROPERTY', 'no such property'));
    engine.answers('SET SESSION grantline_rules_2 = true', failed('PERMISSION_DENIED', 'Access Denied'));
    engine.answers('SET SESSION grantline_rules_3 = true', failed('CONFIGURATION_INVALID', '/etc/x', 'INTERNAL_ERROR'));

    expect(await probe.rulesInForce('grantline_rules_1')).toBe('these');
    expect(await probe.rulesInForce('grantline_rules_2')).toBe('others');
    engine.answers('SET SESSION grantline_rules_none = true', failed('INVALID_SESSION_PROPERTY', 'unknown'));
    expect(await probe.rulesInForce('grantline_rules_1')).toBe('others');
    expect(await probe.rulesInForce('grantline_rules_3')).toBe('broken');
    await expect(probe.rulesInForce('a = 1; DROP')).rejects.toThrow('letters, digits and underscores');
    expect(engine.statements.at(-1)?.session.user).toBe('grantline');
  });

  it('that hangs does not hold the stop up', async () => {
    engine.mode = { kind: 'verified', refusalOf: () => null };
    engine.answers('SELECT current_user', { after: new Promise(() => undefined) });
    keycloak.gate = null;
    const running = await started();
    await until(() => engine.requests.some(({ method }) => method === 'GET'));
    await running.stop();
    service = null;

    expect(engine.statements[0]?.cancelled).toBe(true);
  });
});
