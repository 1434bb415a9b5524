import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { apply, namespace } from '../chart/cluster-objects.js';
import { type Cluster, startCluster } from '../running/cluster.js';
import { KubernetesClient } from '../running/kubernetes-client.js';
import { Processes } from '../running/processes.js';
import { until } from '../running/until.js';
import { chartStack, openStack } from '../stack.js';
import { Installation, type Replica } from './installation.js';
import { grantSchema } from './publications.js';
import { RulesMap } from './rules-map.js';

const stack = openStack(process.env);
const WITHIN = 60_000;
const NAMESPACE = 'warehouse';

interface TargetStatus {
  name: string;
  published: string | null;
  outcome: string | null;
  error: string | null;
}

describe('the ConfigMaps of two clusters', () => {
  const processes = new Processes(mkdtempSync(join(stack.folder, 'two-clusters-')));
  const farProcesses = new Processes(mkdtempSync(join(stack.folder, 'far-cluster-')));
  let installation: Installation;
  let replica: Replica;
  let far: Cluster;
  let there: RulesMap;
  let ana: number;

  beforeAll(async () => {
    const near = await startCluster(processes, stack.parts);
    far = await startCluster(farProcesses, stack.parts);
    installation = await Installation.make(chartStack(processes, stack.parts, near), 'two-clusters');
    await apply(chartStack(processes, stack.parts, far), [namespace(NAMESPACE)]);
    there = new RulesMap(new KubernetesClient(far.api, far.api.administratorToken), NAMESPACE);
    await there.create();
    const targets = [target('near', near, installation.rules), target('far', far, there)];
    const file = join(processes.folder, 'targets.json');
    writeFileSync(file, JSON.stringify(targets));
    const named = { ACL_CONFIGMAP_TARGETS_FILE: file, ACL_CONFIGMAP_NAME: '', ACL_CONFIGMAP_NAMESPACE: '' };
    const schedule = { ACL_SYNC_ENABLED: 'true', ACL_SYNC_CRON: '*/5 * * * * *', ACL_SYNC_ON_CHANGE_SECONDS: '1' };
    replica = await installation.serve({ ...named, ...schedule });
    ana = await installation.signUp(replica, 'ana');
  }, 4 * WITHIN);

  afterAll(async () => {
    await installation.remove();
    await processes.stopAll();
    await farProcesses.stopAll();
  });

  function target(name: string, { api }: Cluster, rules: RulesMap): object {
    const tokenFile = join(processes.folder, `${name}.token`);
    writeFileSync(tokenFile, api.administratorToken);
    const place = { namespace: rules.namespace, configmap: rules.name };
    return { name, ...place, url: api.url, ca_file: api.caFile, token_file: tokenFile };
  }
  const untilHeld = (schema: string, rules: RulesMap) =>
    until(`${schema} is published`, WITHIN, async () => {
      const held = await rules.read();
      return held.text?.includes(schema) === true ? held : undefined;
    });
  /** Until the last run ended so at the far target, and both hold the same version, or not. */
  const untilFar = (outcome: string, isSame: boolean) =>
    until(`the far target is ${outcome}`, WITHIN, async () => {
      const { body } = await replica.administrator.get('/api/admin/acl/status');
      const { targets } = body as { targets: TargetStatus[] };
      const [near, away] = targets;
      const isSo = away?.outcome === outcome && (near?.published === away.published) === isSame;
      return isSo ? targets : undefined;
    });

  it('hold the same version', async () => {
    await grantSchema(replica, ana, 'earlier');
    const held = await untilHeld('earlier', installation.rules);

    expect(await untilHeld('earlier', there)).toMatchObject({ text: held.text, generation: held.generation });
  });

  it('do not wait for each other: the one whose API server hangs gets the current version when it is back', async () => {
    far.api.signal('SIGSTOP');
    await grantSchema(replica, ana, 'meanwhile');
    const held = await untilHeld('meanwhile', installation.rules);
    const [near, away] = await untilFar('failed', false);
    far.api.signal('SIGCONT');

    expect(near).toMatchObject({ name: 'configmap:near', outcome: 'available', error: null });
    expect(away).toMatchObject({ name: 'configmap:far', outcome: 'failed' });
    expect(away?.error).toMatch(/^(timeout|unreachable): /);
    expect(await untilHeld('meanwhile', there)).toMatchObject({ text: held.text, generation: held.generation });
    await untilFar('available', true);
    expect((await installation.recorded()).filter(({ text }) => text.includes('meanwhile'))).toHaveLength(1);
  });

  it('are compared each: an edit in one is overwritten in it, by a version for both', async () => {
    const { generation } = await there.read();
    await there.editRules('{}');

    const repaired = await untilHeld('meanwhile', there);
    expect(Number(repaired.generation)).toBeGreaterThan(Number(generation));
    await until('both name it', WITHIN, async () =>
      (await installation.rules.read()).generation === repaired.generation ? true : undefined,
    );
  });
});
