import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';

import { ApiClient, passwordOf, signIn } from '../support/service/api-client.js';
import { apiToken } from '../support/service/api-tokens.js';
import { idOf, SCIM_TOKEN, ScimClient, scimGroup, scimUser } from '../support/service/scim-client.js';
import { Deployment } from './loop/deployment.js';
import { emptyRules } from './running/config-map.js';
import { READABLE_CATALOG, startGrantline } from './running/grantline.js';
import { Processes } from './running/processes.js';
import { until } from './running/until.js';
import { kubectlOf, openStack } from './stack.js';

const stack = openStack(process.env);
const ENDLESS = `SELECT count(*) FROM ${READABLE_CATALOG}.sf100.lineitem a CROSS JOIN ${READABLE_CATALOG}.sf100.lineitem b`;
/** What is aimed at, from the provider's word to rules without the person. */
const TARGET_SECONDS = 15;

describe('a leaver whom the identity provider deactivates by SCIM', () => {
  const processes = new Processes(mkdtempSync(join(stack.folder, 'leavers-')));
  let deployment: Deployment;
  let scim: ScimClient;
  let ana: string;

  beforeAll(async () => {
    await emptyRules(kubectlOf(stack));
    const grantline = await startGrantline(processes, stack, {
      ...{ name: 'leavers', mode: 'insecure', family: 'X-Trino', runs: 'on-change' },
      environment: (given) => Promise.resolve({ ...given, SCIM_TOKEN }),
    });
    deployment = new Deployment(stack, grantline, 'insecure', 'X-Trino');
    await deployment.makeAdministrator();
    scim = new ScimClient(grantline.url);
    ana = await scim.made('/Users', scimUser('ana'));
    const bob = await scim.made('/Users', scimUser('bob'));
    const group = await scim.made('/Groups', scimGroup('analysts', { members: [ana, bob].map(member) }));
    const principal = { type: 'group', id: Number(idOf(group)) };
    await granted(principal, { catalog: READABLE_CATALOG }, 'SELECT');
    await granted(principal, { engine: true }, 'VIEW_QUERIES');
    await granted(principal, { catalog: 'system', schema: 'runtime' }, 'SELECT');
  });
  afterAll(() => processes.stopAll());

  const member = (path: string) => ({ value: idOf(path) });
  async function granted(principal: object, resource: object, ...privileges: string[]): Promise<void> {
    const answer = await deployment.administrator.post('/api/admin/grants', { principal, resource, privileges });
    expect(answer).toMatchObject({ status: 201 });
  }
  const published = async () => (await deployment.configMap()).data['rules.json'] ?? '';
  /** What the engine has of ana's statement. */
  const statement = async () => {
    const sql = `SELECT state, error_code FROM system.runtime.queries WHERE query LIKE 'SELECT count(*) FROM %CROSS JOIN %'`;
    const answer = await deployment.onEngine(sql, 'bob');
    return answer.kind === 'rows' ? answer.rows : answer;
  };

  it('loses the access token, the API token, the running statement and the rules', async () => {
    await until('members of the group are in the rules', 60_000, async () => {
      const text = await published();
      return /\bana\b/.test(text) && text.includes('"view"') && text.includes('runtime') ? true : undefined;
    });
    await deployment.untilLive();
    const client = await signedIn();
    const program = new ApiClient(deployment.grantline.url).as((await apiToken(client, new Date(), 'queries')).token);
    const submitted = await program.post('/api/queries', { sql: ENDLESS });
    expect(submitted).toMatchObject({ status: 201 });
    await until('the statement runs', 60_000, async () =>
      JSON.stringify(await statement()).includes('RUNNING') ? true : undefined,
    );

    const said = performance.now();
    expect((await scim.patch(ana, { op: 'Replace', path: 'active', value: 'False' })).status).toBe(200);
    expect((await client.get('/api/auth/me')).status).toBe(401);
    expect((await program.get('/api/auth/me')).status).toBe(401);
    await until('the statement is ended', 30_000, async () => {
      const rows = JSON.stringify(await statement());
      return rows.includes('FAILED') && rows.includes('USER_CANCELED') ? true : undefined;
    });
    const cancelled = (performance.now() - said) / 1000;
    await until('the rules are published without the person', 60_000, async () =>
      /\bana\b/.test(await published()) ? undefined : true,
    );
    const seconds = (performance.now() - said) / 1000;
    console.log(
      `leaver: statement ended after ${cancelled.toFixed(1)} s, rules published after ${seconds.toFixed(1)} s (target: ${TARGET_SECONDS} s)`,
    );
    expect(await published()).toMatch(/\bbob\b/);
  });

  /** By a password of an administrator's, as nobody signs in at a provider here. */
  async function signedIn(): Promise<ApiClient> {
    const made = await deployment.administrator.post(`/api/admin/users/${idOf(ana)}/one-time-password`);
    const first = String(made.body?.['one_time_password']);
    const visitor = new ApiClient(deployment.grantline.url);
    const client = visitor.as((await signIn(visitor, 'ana', first)).access_token);
    const change = { current_password: first, new_password: passwordOf('ana') };
    expect((await client.post('/api/auth/password', change)).status).toBe(204);
    return client;
  }
});
