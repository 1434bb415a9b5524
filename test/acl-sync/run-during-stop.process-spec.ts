import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { freshDatabase, type TestDatabase } from '../support/database/database.js';
import { FakeKubernetesApi } from '../support/fakes/fake-kubernetes-api.js';
import { GrantlineProcess } from '../support/service/grantline-process.js';
import { TEST_SECRET } from '../support/service/secrets.js';
import { SteadyClients } from '../support/service/steady-clients.js';
import { until } from '../support/service/until.js';

describe('a run of the sync when the service stops', () => {
  let folder: string;
  let database: TestDatabase;
  let cluster: FakeKubernetesApi;
  let service: GrantlineProcess;
  let letGo: () => void;
  let operations: string;
  /** With a run that waits for the API server. */
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'grantline-run-'));
    database = await freshDatabase();
    cluster = new FakeKubernetesApi();
    cluster.held = new Promise((resolve) => (letGo = resolve));
    writeFileSync(join(folder, 'token'), 'token-1');
    service = new GrantlineProcess(['serve'], {
      DATABASE_URL: database.url,
      DATABASE_MIGRATION_URL: database.migrationUrl,
      AUTH_SECRET_KEY: TEST_SECRET,
      PORT: '0',
      OPERATIONS_PORT: '0',
      ACL_SYNC_CRON: '* * * * * *',
      ACL_TARGET: 'configmap',
      ACL_CONFIGMAP_NAMESPACE: 'engine',
      ACL_CONFIGMAP_NAME: 'trino-access-control',
      ACL_METADATA_CATALOG: 'none',
      KUBERNETES_API_URL: await cluster.listen(),
      KUBERNETES_TOKEN_FILE: join(folder, 'token'),
      KUBERNETES_CA_FILE: join(folder, 'token'),
    });
    operations = ((await service.untilOutput(/"operations":"([^"]+)"/))[1] ?? '').replace('localhost', '127.0.0.1');
    // The check of the target reads it too.
    await until(() => cluster.requests.length > 1);
  });
  afterEach(async () => {
    letGo();
    service.signal('SIGKILL');
    await service.finished;
    await cluster.close();
    await database.drop();
    rmSync(folder, { recursive: true });
  });

  it('ends, and is recorded, before the database connections close', async () => {
    service.signal('SIGTERM');
    await until(async () => (await fetch(`${operations}/health/ready`)).status === 503);
    letGo();

    const { code, stdout } = await service.finished;
    expect(code).toBe(0);
    expect(stdout).not.toMatch(/Driver not Connected|"level":"error"/);
    expect(stdout).toContain('TRINO_ACL_SYNC_APPLIED');
    const client = new Client(database.url);
    await client.connect();
    const { rows } = await client.query('SELECT state FROM acl_publications');
    await client.end();
    expect(rows).toEqual([{ state: 'published' }]);
  });
  it('holds up no answer', async () => {
    const load = new SteadyClients(`${await service.url()}/api/openapi.json`, 4);
    await load.answered(20);

    service.signal('SIGTERM');
    await load.ended;
    letGo();

    expect((await service.finished).code).toBe(0);
    expect(load.failures).toEqual([]);
  });
});
