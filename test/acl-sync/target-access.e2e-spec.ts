import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type HealthReport, HealthRegistry } from '../../src/platform/operations/health.js';
import { freshDatabase } from '../support/database/database.js';
import { FakeKubernetesApi } from '../support/fakes/fake-kubernetes-api.js';
import { runGrantline } from '../support/service/grantline-process.js';
import { TEST_SECRET } from '../support/service/secrets.js';
import { startService, type TestService } from '../support/service/service.js';
import { until } from '../support/service/until.js';

describe('access to the rules target', () => {
  let folder: string;
  let cluster: FakeKubernetesApi;
  let apiUrl: string;
  let service: TestService | null = null;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'target-access-'));
    await writeFile(join(folder, 'token'), 'token-1');
    cluster = new FakeKubernetesApi();
    apiUrl = await cluster.listen();
  });
  afterEach(async () => {
    await service?.stop();
    service = null;
    await cluster.close();
    await rm(folder, { recursive: true });
  });

  const environment = (): Record<string, string> => ({
    ACL_TARGET: 'configmap',
    ACL_CONFIGMAP_NAMESPACE: 'engine',
    ACL_CONFIGMAP_NAME: 'trino-access-control',
    ACL_METADATA_CATALOG: 'none',
    KUBERNETES_API_URL: apiUrl,
    KUBERNETES_TOKEN_FILE: join(folder, 'token'),
    KUBERNETES_CA_FILE: join(folder, 'token'),
  });

  /** The report once the target has been checked. */
  async function checked(started: TestService): Promise<HealthReport> {
    service = started;
    const report = (): Promise<HealthReport> => started.app.get(HealthRegistry).report();
    await until(async () => (await report()).ages['target'] !== null);
    return report();
  }

  const logged = (marker: string): Record<string, unknown>[] =>
    (service?.logLines ?? [])
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ msg }) => msg === marker);

  it('is up where the target can be read and written, with the age of the check', async () => {
    const { parts, ages } = await checked(await startService(environment()));

    expect(parts['target']).toBe('up');
    expect(ages['target']).toBeGreaterThanOrEqual(0);
    expect(
      cluster.reviews.map(({ verb, namespace, resource, name }) => [verb, namespace, resource, name]).sort(),
    ).toEqual([
      ['get', 'engine', 'configmaps', 'trino-access-control'],
      ['patch', 'engine', 'configmaps', 'trino-access-control'],
    ]);
    expect(logged('TRINO_ACL_TARGET_DENIED')).toEqual([]);
    expect(await service?.metrics()).toMatch(
      /^grantline_acl_target_available{target="configmap:engine\/trino-access-control"} 1$/m,
    );
  });

  it('is degraded, and a readable refusal in the log, where a right is missing; the service comes up', async () => {
    cluster.denied = new Set(['patch']);
    const { status, parts } = await checked(await startService(environment()));

    expect([status, parts['target']]).toEqual(['degraded', 'degraded']);
    expect(logged('TRINO_ACL_TARGET_DENIED')).toEqual([
      expect.objectContaining({
        level: 'error',
        target: 'configmap engine/trino-access-control',
        missing: ['patch'],
        identity: 'system:serviceaccount:portal:grantline',
      }),
    ]);
    expect(await service?.metrics()).toMatch(
      /^grantline_acl_target_available{target="configmap:engine\/trino-access-control"} 0$/m,
    );
  });

  it.each([
    ['missing', () => (cluster.map = null)],
    ['immutable', () => cluster.edit({ immutable: true })],
    ['unauthorized', () => cluster.tokens.clear()],
  ])('is degraded where the target is %s', async (reason, spoil) => {
    spoil();
    const { status, parts } = await checked(await startService(environment()));

    expect([status, parts['target']]).toEqual(['degraded', 'degraded']);
    expect(logged('rules target check failed')).toEqual([expect.objectContaining({ level: 'warn', reason })]);
    expect(service?.logLines.join('')).not.toContain('LIVE-RULES');
  });

  it('of an API server that reviews nothing is judged by the map alone', async () => {
    cluster.reviewing = false;
    expect((await checked(await startService(environment()))).parts['target']).toBe('up');
  });

  it('to a folder is degraded where a file is in its place', async () => {
    await writeFile(join(folder, 'acl'), 'a file where the folder should be');
    const { parts } = await checked(await startService({ ACL_FILE_DIRECTORY: join(folder, 'acl') }));
    expect(parts['target']).toBe('degraded');
  });

  it('is explained by acl sync before it reports the failure', async () => {
    const database = await freshDatabase();
    cluster.denied = new Set(['get', 'patch']);
    const command = {
      ...environment(),
      NODE_ENV: 'test',
      AUTH_SECRET_KEY: TEST_SECRET,
      DATABASE_URL: database.url,
      DATABASE_MIGRATION_URL: database.migrationUrl,
    };
    for (const options of [[], ['--dry-run']]) {
      const { code, stdout, stderr } = await runGrantline(['acl', 'sync', ...options], command);
      expect(code).toBe(2);
      expect(stdout + stderr).toContain('forbidden');
      expect(stderr).toMatch(
        /"missing":\["get","patch"\],"identity":"system:serviceaccount:portal:grantline","msg":"TRINO_ACL_TARGET_DENIED"/,
      );
    }
    await database.drop();
  });
});
