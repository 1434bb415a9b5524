import { ApiClient, signedUp, signIn } from '../support/service/api-client.js';
import { FakeKeycloak } from '../support/fakes/fake-keycloak.js';
import { column, FakeTrino } from '../support/fakes/fake-trino.js';
import { startService, type TestService } from '../support/service/service.js';
import { until } from '../support/service/until.js';

export const NUMBERS = [column('n', 'bigint')];

/** The whole service in front of an engine that takes its first token alone, and two signed-in users. */
export class QueriesUnderTest {
  private constructor(
    readonly service: TestService,
    readonly engine: FakeTrino,
    readonly keycloak: FakeKeycloak,
    readonly stranger: ApiClient,
    readonly ana: ApiClient,
    readonly bo: ApiClient,
  ) {}

  static async start(environment: Record<string, string> = {}): Promise<QueriesUnderTest> {
    const engine = new FakeTrino();
    const keycloak = new FakeKeycloak();
    const { hostname, port } = new URL(await engine.listen());
    engine.mode = { kind: 'verified', refusalOf: (token) => (token === FakeKeycloak.token(1) ? null : 'JWT expired') };
    const service = await startService({
      SERVICE_QUERY_HOST: hostname,
      SERVICE_QUERY_PORT: port,
      SERVICE_QUERY_FORWARDED_PROTO: 'https',
      SERVICE_QUERY_JWT_ENABLED: 'true',
      SERVICE_QUERY_JWT_ISSUER_URL: await keycloak.listen(),
      SERVICE_QUERY_JWT_CLIENT_ID: 'grantline',
      SERVICE_QUERY_JWT_CLIENT_SECRET: 'grantline-secret',
      QUERY_MAX_RUNNING_PER_USER: '2',
      QUERY_MAX_ROWS: '6',
      ...environment,
    });
    const stranger = new ApiClient(service.url);
    const ana = stranger.as((await signedUp(stranger, 'ana')).access_token);
    const bo = stranger.as((await signedUp(stranger, 'Bo_2')).access_token);
    return new QueriesUnderTest(service, engine, keycloak, stranger, ana, bo);
  }

  async anotherSession(username: string): Promise<ApiClient> {
    return this.stranger.as((await signIn(this.stranger, username)).access_token);
  }

  async stop(): Promise<void> {
    await this.service.stop();
    await this.engine.close();
    await this.keycloak.close();
  }
}

/** Submits, and returns the path of the query. */
export async function submitted(person: ApiClient, body: Record<string, unknown>): Promise<string> {
  const answer = await person.post('/api/queries', body);
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  return answer.headers.get('location') ?? '';
}

/** The query as its owner sees it once it has ended. */
export async function ended(owner: ApiClient, path: string): Promise<Record<string, unknown>> {
  let query: Record<string, unknown> = {};
  await until(async () => {
    query = (await owner.get(path)).body ?? {};
    return query['finished_at'] !== null;
  });
  return query;
}
