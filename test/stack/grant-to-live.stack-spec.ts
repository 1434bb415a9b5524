import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';

import { grant } from './loop/administration.js';
import { Deployment } from './loop/deployment.js';
import { emptyRules } from './running/config-map.js';
import { engineValues } from './running/engine-values.js';
import { READABLE_CATALOG, startGrantline } from './running/grantline.js';
import { Processes } from './running/processes.js';
import { until } from './running/until.js';
import { kubectlOf, openStack } from './stack.js';

const stack = openStack(process.env);
const BOUND_SECONDS = 170;
/** The kubelet learns of a change by its watch, and writes the volume at the pod's next sync: each minute, stretched by up to a half. */
const KUBELET_SECONDS = { watch: 1, sync: 90 };

describe('from a grant to its effect on the engine', () => {
  const processes = new Processes(mkdtempSync(join(stack.folder, 'grant-to-live-')));
  let deployment: Deployment;

  beforeAll(async () => {
    await emptyRules(kubectlOf(stack));
    const how = { name: 'grant-to-live', mode: 'insecure', family: 'X-Query', runs: 'on-change' } as const;
    deployment = new Deployment(stack, await startGrantline(processes, stack, how), how.mode, how.family);
    await deployment.makeAdministrator();
    await deployment.signUp('ana');
    expect((await deployment.administrator.post('/api/admin/acl/sync')).status).toBe(200);
    await deployment.untilConfirmed();
  });
  afterAll(() => processes.stopAll());

  /** Grants a schema, and waits until the service has seen its rules on the engine. @returns seconds from one to the other */
  async function grantToLive(schema: string): Promise<number> {
    const before = await latest();
    const ana = { type: 'user', id: deployment.person('ana').id } as const;
    await grant(deployment, ana, `${READABLE_CATALOG}.${schema}`, 'SELECT');
    const { hash } = await until('the grant is published', 60_000, async () => {
      const publication = await latest();
      return publication.version === before.version ? undefined : publication;
    });
    await deployment.untilLogged('TRINO_ACL_RULES_LIVE', hash, 60_000);
    const { kind } = await deployment.query('ana', `SELECT count(*) FROM ${READABLE_CATALOG}.${schema}.nation`);
    expect({ kind, trigger: (await latest()).trigger }).toEqual({ kind: 'rows', trigger: 'change' });
    const lines = deployment.grantline.log().split('\n');
    const line = lines.find((each) => each.includes('"msg":"TRINO_ACL_RULES_LIVE"') && each.includes(hash)) ?? '{}';
    return (JSON.parse(line) as { seconds: number }).seconds;
  }

  async function latest(): Promise<{ version: number; hash: string; trigger: string }> {
    const { body } = await deployment.administrator.get('/api/admin/acl/publications?limit=1');
    const [publication] = (body as { items: { version: number; hash: string; trigger: string }[] }).items;
    if (publication === undefined) throw new Error('nothing is published');
    return publication;
  }

  it(`takes at most ${BOUND_SECONDS} s with the worst delays of kubelet and engine`, async () => {
    const delays = KUBELET_SECONDS.watch + KUBELET_SECONDS.sync + refreshSeconds();
    let worst = Number.POSITIVE_INFINITY;
    // More than once on a machine that is busy with something else.
    for (const schema of ['tiny', 'sf1', 'sf100']) {
      // Pause, run, loading and seeing it; the waits of this stack are in it too, a quarter of a second and a second.
      const here = await grantToLive(schema);
      worst = here + delays;
      console.log(
        `grant to live: ${here} s here + ${KUBELET_SECONDS.watch} s the kubelet's watch + ${KUBELET_SECONDS.sync} s its sync + ` +
          `${refreshSeconds()} s the engine's refresh = ${worst.toFixed(1)} s`,
      );
      if (worst <= BOUND_SECONDS) break;
    }
    expect(worst).toBeLessThanOrEqual(BOUND_SECONDS);
  });
});

/** As `helm/engine` ships it. */
function refreshSeconds(): number {
  const seconds = /^security\.refresh-period=(\d+)s$/m.exec(engineValues('insecure').accessControl.properties)?.[1];
  if (seconds === undefined) throw new Error('no refresh period in seconds');
  return Number(seconds);
}
