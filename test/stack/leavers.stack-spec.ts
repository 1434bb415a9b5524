import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';

import { ApiClient } from '../support/service/api-client.js';
import { apiToken } from '../support/service/api-tokens.js';
import { RETURN_TO } from '../support/service/oidc-browser.js';
import { idOf, SCIM_TOKEN, ScimClient, scimGroup, scimUser } from '../support/service/scim-client.js';
import { Deployment } from './loop/deployment.js';
import { emptyRules } from './running/config-map.js';
import { READABLE_CATALOG, startGrantline } from './running/grantline.js';
import { Processes } from './running/processes.js';
import { until } from './running/until.js';
import { forPeople, signedInAt } from './sign-in/for-people.js';
import type { KeycloakAdmin } from './sign-in/keycloak-admin.js';
import { kubectlOf, openStack } from './stack.js';

const stack = openStack(process.env);
const ENDLESS = `SELECT count(*) FROM ${READABLE_CATALOG}.sf100.lineitem a CROSS JOIN ${READABLE_CATALOG}.sf100.lineitem b`;
/** What is aimed at, from the provider's word to rules without the person. */
const TARGET_SECONDS = 15;

describe('people who sign in at Keycloak, and whose groups are pushed by SCIM', () => {
  const processes = new Processes(mkdtempSync(join(stack.folder, 'leavers-')));
  let keycloak: KeycloakAdmin;
  let deployment: Deployment;
  let scim: ScimClient;
  let erin: string;
  let grace: string;

  beforeAll(async () => {
    await emptyRules(kubectlOf(stack));
    const more = { SCIM_TOKEN, AUTH_OIDC_RETURN_ORIGINS: new URL(RETURN_TO).origin };
    const { keycloak: admin, ...how } = await forPeople(stack, more);
    keycloak = admin;
    const grantline = await startGrantline(processes, stack, {
      ...{ name: 'leavers', mode: 'insecure', family: 'X-Trino', runs: 'on-change', ...how },
    });
    deployment = new Deployment(stack, grantline, 'insecure', 'X-Trino');
    await deployment.makeAdministrator();
    scim = new ScimClient(grantline.url);
    [erin, grace] = [await scim.made('/Users', scimUser('erin')), await scim.made('/Users', scimUser('grace'))];
    const group = await scim.made('/Groups', scimGroup('analysts', { members: [erin, grace].map(member) }));
    const principal = { type: 'group', id: Number(idOf(group)) };
    await granted(principal, { catalog: READABLE_CATALOG }, 'SELECT');
    await granted(principal, { engine: true }, 'VIEW_QUERIES');
    await granted(principal, { catalog: 'system', schema: 'runtime' }, 'SELECT');
    await until('members of the group are in the rules', 60_000, async () => {
      const text = await published();
      return /\berin\b/.test(text) && text.includes('"view"') && text.includes('runtime') ? true : undefined;
    });
    await deployment.untilLive();
  });
  afterAll(async () => {
    await keycloak.setEnabled('grace', true);
    await processes.stopAll();
  });

  const member = (path: string) => ({ value: idOf(path) });
  async function granted(principal: object, resource: object, ...privileges: string[]): Promise<void> {
    const answer = await deployment.administrator.post('/api/admin/grants', { principal, resource, privileges });
    expect(answer).toMatchObject({ status: 201 });
  }
  const published = async () => (await deployment.configMap()).data['rules.json'] ?? '';
  /** What the engine has of erin's statement. */
  const statement = async () => {
    const sql = `SELECT state, error_code FROM system.runtime.queries WHERE query LIKE 'SELECT count(*) FROM %CROSS JOIN %'`;
    const answer = await deployment.onEngine(sql, 'grace');
    return answer.kind === 'rows' ? answer.rows : answer;
  };

  it('have the access of their groups, and lose it when they are made inactive: tokens, running statement, rules', async () => {
    const client = await signedInAt(stack, deployment.grantline, 'erin');
    const program = new ApiClient(deployment.grantline.url).as((await apiToken(client, new Date(), 'queries')).token);
    const submitted = await program.post('/api/queries', { sql: ENDLESS });
    expect(submitted).toMatchObject({ status: 201 });
    await until('the statement runs', 60_000, async () =>
      JSON.stringify(await statement()).includes('RUNNING') ? true : undefined,
    );

    const said = performance.now();
    expect((await scim.patch(erin, { op: 'Replace', path: 'active', value: 'False' })).status).toBe(200);
    expect((await client.get('/api/auth/me')).status).toBe(401);
    expect((await program.get('/api/auth/me')).status).toBe(401);
    await until('the statement is ended', 120_000, async () => {
      const rows = JSON.stringify(await statement());
      return rows.includes('FAILED') && rows.includes('USER_CANCELED') ? true : undefined;
    });
    const cancelled = (performance.now() - said) / 1000;
    await until('the rules are published without the person', 120_000, async () =>
      /\berin\b/.test(await published()) ? undefined : true,
    );
    const seconds = (performance.now() - said) / 1000;
    console.log(
      `leaver: statement ended after ${cancelled.toFixed(1)} s, rules published after ${seconds.toFixed(1)} s (target: ${TARGET_SECONDS} s)`,
    );
    expect(await published()).toMatch(/\bgrace\b/);
  });

  it('are out at once when they are disabled and signed out there, and out of the rules when that is pushed', async () => {
    const client = await signedInAt(stack, deployment.grantline, 'grace');
    expect((await client.get('/api/auth/me')).body).toMatchObject({ id: Number(idOf(grace)) });
    await keycloak.setEnabled('grace', false);
    await keycloak.signOut('grace');
    expect((await client.get('/api/auth/me')).status).toBe(401);
    expect(await published()).toMatch(/\bgrace\b/);
    expect((await scim.patch(grace, { op: 'Replace', path: 'active', value: 'False' })).status).toBe(200);
    await until('the rules are published without the person', 120_000, async () =>
      /\bgrace\b/.test(await published()) ? undefined : true,
    );
  });
});
