import { randomBytes } from 'node:crypto';
import { once } from 'node:events';

import { passwordOf } from '../support/service/api-client.js';
import { LOOP } from './loop/steps.js';
import { ADMINISTRATOR, Deployment } from './loop/deployment.js';
import { report } from './progress.js';
import { emptyRules } from './running/config-map.js';
import { MODES, type Mode } from './running/engine.js';
import { type Grantline, startGrantline } from './running/grantline.js';
import type { Processes } from './running/processes.js';
import { forPeople } from './sign-in/for-people.js';
import { kubectlOf, type Stack, type StartedStack } from './stack.js';

const ABOUT: Record<Mode, string> = {
  insecure: 'the engine believes the user header on plain HTTP; only the network keeps strangers out',
  verified: 'the engine verifies a token on every request, without TLS',
};

/**
 * Runs the loop on the started parts, in both modes, and reports each step. Leaves everything running until interrupted, with a service
 * that publishes each change, at which people of the provider sign in and to which people and groups can be pushed.
 */
export async function demo(processes: Processes, { stack, file }: StartedStack): Promise<number> {
  for (const mode of MODES) {
    report(`\nThe loop, ${mode}: ${ABOUT[mode]}\n`);
    await emptyRules(kubectlOf(stack));
    const grantline = await startGrantline(processes, stack, { name: `grantline-${mode}`, mode, family: 'X-Query' });
    const deployment = new Deployment(stack, grantline, mode, 'X-Query');
    for (const [index, { title, run }] of LOOP.entries()) {
      report(`${index + 1}. ${title}`);
      report(`   ${await run(deployment)}`);
    }
    await grantline.stop();
  }
  await emptyRules(kubectlOf(stack));
  const scimToken = randomBytes(32).toString('hex');
  const { port, environment } = await forPeople(stack, { SCIM_TOKEN: scimToken });
  const how = { name: 'grantline', mode: LEFT, family: 'X-Query', runs: 'on-change', port, environment } as const;
  const grantline = await startGrantline(processes, stack, how);
  await new Deployment(stack, grantline, LEFT, 'X-Query').makeAdministrator();
  report(farewell(stack, grantline, scimToken, file));
  await once(processes.ending, 'abort');
  return 0;
}

/** Which engine the service uses that is left running. */
const LEFT: Mode = 'verified';

/** What to type in another terminal. */
function farewell(
  { cluster, engines, issuer, parts, realm }: Stack,
  { url, database }: Grantline,
  scimToken: string,
  file: string,
): string {
  const { people } = realm;
  const json = `-H 'Content-Type: application/json'`;
  const authorized = `-H "Authorization: Bearer $TOKEN"`;
  const member = (name: string): string => `sed 's/.*"${name}":"\\([^"]*\\)".*/\\1/'`;
  return `
Everything stays up until Ctrl-C. The console: ${url} (the API: ${url}/api/docs)
The administrator: ${ADMINISTRATOR}, password "${passwordOf(ADMINISTRATOR)}"
People of Keycloak, who sign in there: ${people.users.join(', ')}, password ${people.password}

To go on by hand, here or by docs/identity.md:

GRANTLINE=${url} SCIM_TOKEN=${scimToken} KEYCLOAK=${new URL(issuer).origin}
TOKEN=$(curl -s $GRANTLINE/api/auth/login ${json} \\
    -d '{"username":"${ADMINISTRATOR}","password":"${passwordOf(ADMINISTRATOR)}"}' | ${member('access_token')})
OPERATOR=$(curl -s $KEYCLOAK/realms/${people.name}/protocol/openid-connect/token -d grant_type=client_credentials \\
    -d client_id=${people.administrator.id} -d client_secret=${people.administrator.secret} | ${member('access_token')})
curl -s $GRANTLINE/api/admin/acl/status ${authorized}
${parts.clusterTools}/kubectl --kubeconfig=${cluster.kubeconfig} -n engine get configmap trino-access-control -o yaml
curl -s ${engines[LEFT]}/v1/info

An approval, by docs/console.md#an-approval: this deletes all grants and records nothing.

node --input-type=module -e "import pg from 'pg'; const client = new pg.Client('${database}'); await client.connect();
    await client.query('DELETE FROM grants'); await client.end()"

All other addresses are in ${file}
`;
}
