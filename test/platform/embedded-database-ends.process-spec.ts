import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { ApiClient, signedUp } from '../support/service/api-client.js';
import { EmbeddedCluster, folderOfClusters } from '../support/database/embedded-cluster.js';
import { GrantlineProcess } from '../support/service/grantline-process.js';

describe('an embedded database that ends by itself', () => {
  let folder: string;
  let cluster: EmbeddedCluster;
  let environment: Record<string, string>;
  beforeEach(() => {
    folder = folderOfClusters();
    cluster = new EmbeddedCluster(join(folder, 'data'));
    cluster.lay();
    environment = { DATA_DIR: join(folder, 'data'), PORT: '0', OPERATIONS_PORT: '0', AUTH_BCRYPT_COST: '4' };
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** Ends the server as a lack of memory does. */
  const kill = (): void => {
    process.kill(cluster.postmaster() ?? 0, 'SIGKILL');
  };

  it('is started again for all its processes, and given up with exit code 2 when it ends again and again', async () => {
    const [service, other] = [
      new GrantlineProcess(['serve'], environment),
      new GrantlineProcess(['serve'], environment),
    ];
    const urls = [await service.url(), await other.url()];
    const anonymous = new ApiClient(urls[0] ?? '');
    const { access_token: token } = await signedUp(anonymous, 'ana');
    const me = (url: string) => new ApiClient(url, token).get('/api/auth/me');

    kill();
    await service.untilOutput(/"the embedded database is back"/);
    await other.untilOutput(/"the embedded database is back"/);
    const admin = new GrantlineProcess(
      ['users', 'create-admin', '--username', 'boss', '--email', 'boss@example.org'],
      environment,
      { input: 'a password of boss\n' },
    );

    expect((await admin.finished).code).toBe(0);
    for (const url of urls) expect((await me(url)).status).toBe(200);
    other.signal('SIGTERM');
    expect((await other.finished).code).toBe(0);
    expect((await me(urls[0] ?? '')).status).toBe(200);

    for (let ends = 2; ends < 6; ends += 1) {
      kill();
      await service.untilOutput(new RegExp(`(is back[^]*){${ends}}`));
    }
    kill();
    const { code, stderr } = await service.finished;
    expect(code).toBe(2);
    expect(stderr).toContain('the embedded database ended 6 times within ten minutes; see ');
  });
});
