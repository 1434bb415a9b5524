import { once } from 'node:events';

import { passwordOf } from '../support/service/api-client.js';
import { LOOP } from './loop/steps.js';
import { ADMINISTRATOR, Deployment } from './loop/deployment.js';
import { report } from './progress.js';
import { emptyRules } from './running/config-map.js';
import { MODES, type Mode } from './running/engine.js';
import { startGrantline } from './running/grantline.js';
import type { Processes } from './running/processes.js';
import { kubectlOf, type Stack, type StartedStack } from './stack.js';

const ABOUT: Record<Mode, string> = {
  insecure: 'the engine believes the user header on plain HTTP; only the network keeps strangers out',
  verified: 'the engine verifies a token on every request, without TLS',
};

/** Runs the loop on the started parts, in both modes, reports each step, and leaves everything running until interrupted. */
export async function demo(processes: Processes, { stack, file }: StartedStack): Promise<number> {
  const deployments: Deployment[] = [];
  for (const mode of MODES) {
    report(`\nThe loop, ${mode}: ${ABOUT[mode]}\n`);
    await emptyRules(kubectlOf(stack));
    const grantline = await startGrantline(processes, stack, { name: `grantline-${mode}`, mode, family: 'X-Query' });
    const deployment = new Deployment(stack, grantline, mode, 'X-Query');
    for (const [index, { title, run }] of LOOP.entries()) {
      report(`${index + 1}. ${title}`);
      report(`   ${await run(deployment)}`);
    }
    deployments.push(deployment);
    if (mode !== MODES.at(-1)) await grantline.stop();
  }
  const last = deployments.at(-1);
  if (last !== undefined) report(farewell(stack, last, file));
  await once(processes.ending, 'abort');
  return 0;
}

/** What to type in another terminal. */
function farewell({ cluster, engines, parts }: Stack, { grantline, mode }: Deployment, file: string): string {
  const token = `TOKEN=$(curl -s ${grantline.url}/api/auth/login -H 'Content-Type: application/json' \\
    -d '{"username":"${ADMINISTRATOR}","password":"${passwordOf(ADMINISTRATOR)}"}' | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')`;
  const authorized = `-H "Authorization: Bearer $TOKEN"`;
  const json = `-H 'Content-Type: application/json'`;
  return `
Everything stays up until Ctrl-C. Grantline: ${grantline.url} (its API: ${grantline.url}/api/docs). To go on by hand:

${token}
curl -s ${grantline.url}/api/admin/grants ${authorized} ${json} \\
    -d '{"principal":{"type":"user","id":2},"resource":{"catalog":"tpch","schema":"tiny"},"privileges":["SELECT"]}'
curl -s -X POST ${grantline.url}/api/admin/acl/sync ${authorized}
curl -s ${grantline.url}/api/admin/acl/status ${authorized}
${parts.clusterTools}/kubectl --kubeconfig=${cluster.kubeconfig} -n engine get configmap trino-access-control -o yaml
curl -s ${engines[mode]}/v1/info
All other addresses are in ${file}
`;
}
