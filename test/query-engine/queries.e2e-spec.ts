import { ApiClient, signedUp } from '../auth/client.js';
import { FakeKeycloak } from '../support/fake-keycloak.js';
import { column, FakeTrino, failed } from '../support/fake-trino.js';
import { startService, type TestService } from '../support/service.js';

describe('queries', () => {
  const engine = new FakeTrino();
  const keycloak = new FakeKeycloak();
  let service: TestService;
  let ana: ApiClient;

  beforeAll(async () => {
    const { hostname, port } = new URL(await engine.listen());
    engine.mode = { kind: 'verified', refusalOf: (token) => (token === FakeKeycloak.token(1) ? null : 'JWT expired') };
    service = await startService({
      SERVICE_QUERY_HOST: hostname,
      SERVICE_QUERY_PORT: port,
      SERVICE_QUERY_FORWARDED_PROTO: 'https',
      SERVICE_QUERY_JWT_ENABLED: 'true',
      SERVICE_QUERY_JWT_ISSUER_URL: await keycloak.listen(),
      SERVICE_QUERY_JWT_CLIENT_ID: 'grantline',
      SERVICE_QUERY_JWT_CLIENT_SECRET: 'grantline-secret',
    });
    const stranger = new ApiClient(service.url);
    ana = stranger.as((await signedUp(stranger, 'ana')).access_token);
  });
  afterAll(async () => {
    await service.stop();
    await engine.close();
    await keycloak.close();
  });

  it('runs under the name of the person', async () => {
    engine.answers('SELECT n', { columns: [column('n', 'bigint')], data: '[[9223372036854775807]]' });
    const submitted = await ana.post('/api/queries', { sql: 'SELECT n' });
    expect(submitted.status).toBe(201);
    const rows = await ana.get(`${submitted.headers.get('location') ?? ''}/rows`);
    console.log(submitted.body, rows.body, service.logLines.join(''));
    const rows2 = await ana.get(`${submitted.headers.get('location') ?? ''}/rows?after=${String(rows.body?.['next'])}`);
    console.log(rows2.body, (await ana.get(submitted.headers.get('location') ?? '')).body);
  });
});
