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

  it('ends the service with exit code 2, whose next start has what was stored', async () => {
    const service = new GrantlineProcess(['serve'], environment);
    const { access_token: token } = await signedUp(new ApiClient(await service.url()), 'ana');
    process.kill(cluster.postmaster() ?? 0, 'SIGKILL'); // as a lack of memory does

    const { code, stderr } = await service.finished;
    expect(code).toBe(2);
    expect(stderr).toContain('the embedded database has ended; see ');
    const next = new GrantlineProcess(['serve'], environment);
    expect((await new ApiClient(await next.url(), token).get('/api/auth/me')).status).toBe(200);
    next.signal('SIGTERM');
    expect((await next.finished).code).toBe(0);
  });
});
