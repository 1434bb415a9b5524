import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { ApiClient, signedUp } from '../support/service/api-client.js';
import { EmbeddedCluster, folderOfClusters } from '../support/database/embedded-cluster.js';
import { column, FakeTrino } from '../support/fakes/fake-trino.js';
import type { ScriptedPage } from '../support/fakes/fake-trino-statement.js';
import { GrantlineProcess } from '../support/service/grantline-process.js';
import { RawConnection } from '../support/service/raw-connection.js';
import { heldRegistration } from './held-registration.js';

/** Kubernetes kills what has not ended by then. */
const GRACE_SECONDS = 30;

// Each waits for most of the 20 s, so they wait at the same time.
describe('the end of a stop', () => {
  const folders: string[] = [];
  const ownCluster = () => {
    const folder = folderOfClusters();
    folders.push(folder);
    const dataDir = join(folder, 'data');
    const cluster = new EmbeddedCluster(dataDir);
    cluster.lay();
    return { cluster, environment: { DATA_DIR: dataDir, PORT: '0', OPERATIONS_PORT: '0', AUTH_BCRYPT_COST: '4' } };
  };
  afterAll(() => {
    for (const folder of folders) rmSync(folder, { recursive: true });
  });

  it.concurrent('comes within 20 s whatever requests are waiting for, the database first', async () => {
    const { cluster, environment } = ownCluster();
    const service = new GrantlineProcess(['serve'], environment);
    const { registration } = await heldRegistration(await service.url(), cluster);
    const brokenOff = expect(registration).rejects.toThrow();
    const begun = performance.now();

    service.signal('SIGTERM');
    const { code } = await service.finished;

    expect((performance.now() - begun) / 1000).toBeLessThan(GRACE_SECONDS);
    await brokenOff;
    expect(code).toBe(1);
    await cluster.isStopped();
  });

  it.concurrent('comes within 20 s whatever readers do, and the database is stopped, not killed', async () => {
    const { cluster, environment } = ownCluster();
    const engine = new FakeTrino();
    const { hostname, port } = new URL(await engine.listen());
    const columns = [column('v', 'varchar')];
    const filler = { text: 'x', bytes: 2 ** 20 };
    engine.answers('SELECT endless', ...Array<ScriptedPage>(100_000).fill({ columns, data: [['v']] }));
    engine.answers('SELECT unread', ...Array<ScriptedPage>(100).fill({ columns, data: '[["@filler"]]', filler }));
    const service = new GrantlineProcess(['serve'], {
      ...environment,
      SERVICE_QUERY_HOST: hostname,
      SERVICE_QUERY_PORT: port,
    });
    const url = await service.url();
    const anonymous = new ApiClient(url);
    const ana = anonymous.as((await signedUp(anonymous, 'ana')).access_token);
    const rows = async (sql: string): Promise<RawConnection> => {
      const path = (await ana.post('/api/queries', { sql })).headers.get('location') ?? '';
      const connection = await RawConnection.open(url);
      connection.send(
        `GET ${path}/rows HTTP/1.1\r\nHost: x\r\nAccept: text/csv\r\nAuthorization: Bearer ${ana.token}\r\n\r\n`,
      );
      await connection.reads(/ 200 OK/);
      return connection;
    };
    const endless = await rows('SELECT endless');
    const unread = (await rows('SELECT unread')).stopReading();
    const begun = performance.now();

    service.signal('SIGTERM');
    await service.finished;

    expect((performance.now() - begun) / 1000).toBeLessThan(GRACE_SECONDS);
    const streamed = engine.statements.filter(({ sql }) => /endless|unread/.test(sql));
    expect(streamed.map(({ cancelled }) => cancelled)).toEqual([true, true]);
    await cluster.isStopped();
    expect(cluster.log()).toContain('LOG:  shutting down'); // only a server that writes everything back first logs this
    for (const connection of [endless, unread]) connection.destroy();
    await engine.close();
  });
});
