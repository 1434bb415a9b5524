import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { administrator, people } from '../support/service/administrator.js';
import type { Answer, ApiClient } from '../support/service/api-client.js';
import { FakeKubernetesApi } from '../support/fakes/fake-kubernetes-api.js';
import { FastTimers } from '../support/fakes/fast-motion.js';
import { startService, type TestService } from '../support/service/service.js';
import { TcpProxy } from '../support/service/tcp-proxy.js';
import { until } from '../support/service/until.js';
import { sharedFolder } from '../support/service/shared-folder.js';

describe('the Kubernetes API server', () => {
  const folder = sharedFolder('grantline-api-server-');
  let cluster: FakeKubernetesApi;
  let proxy: TcpProxy;
  let service: TestService;
  let admin: ApiClient;
  let ana: number;
  beforeAll(async () => {
    await writeFile(join(folder, 'token'), 'token-1');
    cluster = new FakeKubernetesApi();
    proxy = await TcpProxy.to(await cluster.listen());
    const environment = {
      ACL_TARGET: 'configmap',
      ACL_CONFIGMAP_NAMESPACE: 'engine',
      ACL_CONFIGMAP_NAME: 'trino-access-control',
      ACL_METADATA_CATALOG: 'none',
      KUBERNETES_API_URL: proxy.url,
      KUBERNETES_TOKEN_FILE: join(folder, 'token'),
      KUBERNETES_CA_FILE: join(folder, 'token'),
    };
    service = await startService(environment, { timers: new FastTimers() });
    admin = await administrator(service);
    ({ ana } = await people(service, 'ana'));
  });
  afterAll(async () => {
    await service.stop();
    await proxy.down();
    await cluster.close();
  });

  const grant = (schema: string): Promise<Answer> =>
    admin.post('/api/admin/grants', {
      principal: { type: 'user', id: ana },
      resource: { catalog: 'sales', schema },
      privileges: ['SELECT'],
    });
  const sync = (): Promise<Answer> => admin.post('/api/admin/acl/sync');
  const partIs = (state: string): Promise<void> =>
    until(async () => (await service.ready()).body.parts['target'] === state);

  it('that is gone makes a run 503; grants and revokes are taken, and published once it is back', async () => {
    expect((await sync()).body).toMatchObject({ outcome: 'applied' });
    const before = cluster.map;
    await proxy.down();
    const granted = await grant('eu');
    const failed = await sync();
    await partIs('degraded');
    const { status } = await service.ready();
    const { ready, degraded } = await service.scraped();
    const failedSince = /^grantline_acl_failed_since_timestamp_seconds .*$/m.exec(await service.metrics())?.[0];
    expect((await admin.get('/api/admin/acl/status')).body).toMatchObject({ last_outcome: 'failed' });
    await proxy.up();

    expect(granted.status).toBe(201);
    expect([failed.status, failed.body?.['code'], failed.body?.['reason']]).toEqual([
      503,
      'target_unavailable',
      'unreachable',
    ]);
    expect([status, ready, degraded]).toEqual([200, 1, ['target']]);
    expect(failedSince).toMatch(/[1-9]/);
    expect(cluster.map).toEqual(before);
    expect((await sync()).body).toMatchObject({ outcome: 'applied' });
    expect(cluster.map?.data?.['rules.json']).toContain('"eu"');
    expect(cluster.map?.data?.['rules.json.bak']).toBe(before?.data?.['rules.json']);
    await partIs('up');
  });
});
