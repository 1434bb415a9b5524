import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigMapRulesTarget } from '../../src/acl-sync/infrastructure/configmap-rules-target.js';
import { FileRulesTarget } from '../../src/acl-sync/infrastructure/file-rules-target.js';
import { KubernetesApi } from '../../src/acl-sync/infrastructure/kubernetes-api.js';
import { FakeKubernetesApi } from '../support/fakes/fake-kubernetes-api.js';
import { SkippingTimers } from '../support/fakes/fake-timers.js';
import { LogBook } from '../support/fakes/log-book.js';
import { FakeRulesTarget } from '../support/fakes/fake-rules-target.js';
import { describeRulesTarget } from './rules-target.contract.js';

describeRulesTarget('fake', () => {
  const target = new FakeRulesTarget();
  return Promise.resolve({
    target,
    former: () => Promise.resolve(target.former),
    editByHand: (text) => {
      target.editByHand(text);
      return Promise.resolve();
    },
    close: () => Promise.resolve(),
  });
});

describeRulesTarget('file', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'rules-target-'));
  return {
    target: new FileRulesTarget(join(directory, 'acl'), 0o640),
    former: () => readFile(join(directory, 'acl', 'rules.json.bak'), 'utf8').catch(() => null),
    editByHand: (text) => writeFile(join(directory, 'acl', 'rules.json'), text),
    close: () => rm(directory, { recursive: true }),
  };
});

describeRulesTarget('configmap', async () => {
  const server = new FakeKubernetesApi();
  const apiUrl = await server.listen();
  const directory = await mkdtemp(join(tmpdir(), 'rules-target-'));
  const tokenFile = join(directory, 'token');
  await writeFile(tokenFile, 'token-1\n');
  const api = new KubernetesApi({ apiUrl, caFile: '', tokenFile }, new SkippingTimers());
  return {
    target: new ConfigMapRulesTarget(
      api,
      { namespace: 'engine', name: 'trino-access-control', key: 'configmap:engine/trino-access-control' },
      new LogBook(),
    ),
    former: () => Promise.resolve(server.map?.data?.['rules.json.bak'] ?? null),
    editByHand: (text) => {
      server.edit({ data: { 'rules.json': text } });
      return Promise.resolve();
    },
    close: async () => {
      await server.close();
      await rm(directory, { recursive: true });
    },
  };
});
