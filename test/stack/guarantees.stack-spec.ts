import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import { RETURN_TO } from '../support/service/oidc-browser.js';
import { idOf, SCIM_TOKEN, ScimClient, scimGroup, scimUser } from '../support/service/scim-client.js';
import { Deployment, type QueryOutcome } from './loop/deployment.js';
import { emptyRules } from './running/config-map.js';
import { READABLE_CATALOG, startGrantline, WRITABLE_CATALOG } from './running/grantline.js';
import { Processes } from './running/processes.js';
import { until } from './running/until.js';
import { forPeople, signedInAt } from './sign-in/for-people.js';
import { kubectlOf, openStack } from './stack.js';

const stack = openStack(process.env);
const SENTENCE = 'nobody of analysts but auditors sees hr.people.ssn';
const TABLE = { catalog: WRITABLE_CATALOG, schema: 'hr', table: 'people' };
const PATH = `${WRITABLE_CATALOG}.hr.people`;
const REAL = '078-05-1120';
const READING = `SELECT name, ssn FROM ${PATH}`;
const METRIC = `grantline_guarantee_broken_since_timestamp_seconds{name="${SENTENCE}"}`;

describe(SENTENCE, () => {
  const processes = new Processes(mkdtempSync(join(stack.folder, 'guarantees-')));
  const over = new AbortController();
  const seen: (QueryOutcome & { at: number })[] = [];
  const ids = { analysts: 0, auditors: 0, payroll: 0, guarantee: 0, revoked: 0 };
  let asking: Promise<void>;
  let deployment: Deployment;
  let scim: ScimClient;
  let erin: string;

  beforeAll(async () => {
    await emptyRules(kubectlOf(stack));
    const more = { SCIM_TOKEN, AUTH_OIDC_RETURN_ORIGINS: new URL(RETURN_TO).origin };
    const { keycloak: _, ...how } = await forPeople(stack, more);
    const grantline = await startGrantline(processes, stack, {
      ...{ name: 'guarantees', mode: 'insecure', family: 'X-Trino', runs: 'on-change', ...how },
    });
    deployment = new Deployment(stack, grantline, 'insecure', 'X-Trino');
    await deployment.makeAdministrator();
    expect((await deployment.administrator.post('/api/admin/acl/sync')).status).toBe(200);
    await deployment.untilLive();
    scim = new ScimClient(grantline.url);
    erin = await scim.made('/Users', scimUser('erin'));
    const grace = await scim.made('/Users', scimUser('grace'));
    const group = async (name: string, ...members: string[]) =>
      Number(idOf(await scim.made('/Groups', scimGroup(name, { members: members.map(member) }))));
    ids.analysts = await group('analysts', erin, grace);
    ids.auditors = await group('auditors', grace);
    ids.payroll = await group('payroll');
    for (const sql of [
      `CREATE SCHEMA ${WRITABLE_CATALOG}.hr`,
      `CREATE TABLE ${PATH} AS SELECT 'ida' AS name, '${REAL}' AS ssn`,
    ])
      expect(await deployment.onEngine(sql)).toMatchObject({ kind: 'rows' });
    for (const name of ['erin', 'grace']) await deployment.enter(name, await signedInAt(stack, grantline, name));
    asking = askEachSecond();
  });
  afterAll(async () => {
    over.abort();
    await asking;
    for (const each of ['TABLE', 'SCHEMA'])
      await deployment.onEngine(`DROP ${each} ${each === 'TABLE' ? PATH : `${WRITABLE_CATALOG}.hr`}`);
    await processes.stopAll();
  });

  const member = (path: string) => ({ value: idOf(path) });
  const ofGroup = (id: number) => ({ type: 'group', id });
  const wrote = async (path: string, body: object): Promise<number> => {
    const answer = await deployment.administrator.post(`/api/admin/${path}`, body);
    expect(answer).toMatchObject({ status: 201 });
    return Number(answer.body?.['id']);
  };
  const grant = (group: number, resource: object) => ({
    ...{ principal: ofGroup(group), resource, privileges: ['SELECT'] },
  });
  const status = async () => (await deployment.administrator.get('/api/admin/acl/status')).body;
  const metrics = async () => (await fetch(`${deployment.grantline.operations}/metrics`)).text();
  const guarantee = async () => (await deployment.administrator.get(`/api/admin/guarantees/${ids.guarantee}`)).body;
  const change = (op: string, path: string, value?: object[]) =>
    scim.patch(`/Groups/${ids.payroll}`, { op, path, ...(value && { value }) });

  async function published(what: string, holds: (text: string) => boolean): Promise<void> {
    await until(what, 60_000, async () => {
      const { data } = await deployment.configMap();
      return holds(data['rules.json'] ?? '') ? true : undefined;
    });
    await deployment.untilLive();
  }

  /** Erin reads the column through the service, for as long as the specs run. */
  async function askEachSecond(): Promise<void> {
    while (!over.signal.aborted) {
      const at = Date.now();
      seen.push({ at, ...(await deployment.query('erin', READING)) });
      await pause(Math.max(0, at + 1000 - Date.now()), undefined, { signal: over.signal }).catch(() => undefined);
    }
  }

  /** Waits until erin, from now on, gets these rows, or the engine's refusal. Access with a mask is published in three steps. */
  async function erinGets(rows: unknown[][] | 'PERMISSION_DENIED'): Promise<void> {
    const since = Date.now();
    await until(`erin gets ${JSON.stringify(rows)}`, 120_000, () => {
      const last = seen.at(-1);
      const got = last?.kind === 'rows' ? last.rows : last?.engineErrorName;
      return Promise.resolve(((last?.at ?? 0) >= since && JSON.stringify(got) === JSON.stringify(rows)) || undefined);
    });
  }

  it('refuses the grant that would break it, with the person and the way', async () => {
    await wrote('grants', grant(ids.auditors, TABLE));
    await wrote('grants', grant(ids.payroll, TABLE));
    ids.revoked = await wrote('grants', grant(ids.analysts, { catalog: READABLE_CATALOG, schema: 'tiny' }));
    ids.guarantee = await wrote('guarantees', {
      ...{ name: SENTENCE, kind: 'never', principal: ofGroup(ids.analysts), except: [ofGroup(ids.auditors)] },
      resource: { ...TABLE, column: 'ssn' },
    });
    await published('what analysts read is published', (text) => text.includes('tiny'));
    expect(await deployment.query('grace', READING)).toEqual({ kind: 'rows', rows: [['ida', REAL]] });
    await erinGets('PERMISSION_DENIED');

    const onSchema = grant(ids.analysts, { catalog: TABLE.catalog, schema: TABLE.schema });
    const refused = await deployment.administrator.post('/api/admin/grants', onSchema);
    expect(refused).toMatchObject({ status: 409, body: { code: 'guarantee_broken' } });
    expect(refused.body?.['errors']).toMatchObject([
      {
        guarantee: { id: ids.guarantee, name: SENTENCE },
        witness: {
          ...{ principal: { type: 'user', name: 'erin' }, privilege: 'SELECT' },
          resource: { ...TABLE, column: 'ssn' },
          through: { group: { id: ids.analysts, name: 'analysts' } },
        },
      },
    ]);

    await wrote('policies', {
      ...{ kind: 'column_mask', expression: 'NULL', resource: { ...TABLE, column: 'ssn' } },
      ...{ principal: { type: 'everyone' }, except: [ofGroup(ids.auditors), ofGroup(ids.payroll)] },
    });
    await wrote('grants', onSchema);
    await erinGets([['ida', null]]);
  }, 300_000);

  it('holds back the version in which SCIM has broken it, and no revoke', async () => {
    expect((await change('add', 'members', [member(erin)])).status).toBe(204);
    await until('the run is refused', 60_000, async () =>
      (await status())?.['last_outcome'] === 'refused' ? true : undefined,
    );
    expect(await guarantee()).toMatchObject({
      state: 'broken',
      witnesses: expect.arrayContaining([
        expect.objectContaining({ principal: expect.objectContaining({ name: 'erin' }) as unknown }),
      ]) as unknown,
    });
    expect(await status()).toMatchObject({ broken_guarantees: [{ id: ids.guarantee, name: SENTENCE }] });
    await until('the alert has its metric', 60_000, async () =>
      (await metrics()).split('\n').some((line) => line.startsWith(`${METRIC} 1`)) ? true : undefined,
    );

    await wrote('grants', grant(ids.auditors, { catalog: READABLE_CATALOG, schema: 'sf1' }));
    await deployment.administrator.delete(`/api/admin/grants/${ids.revoked}`);
    await published('the revoke is published alone', (text) => !text.includes('tiny'));
    expect((await deployment.configMap()).data['rules.json']).not.toContain('sf1');
    expect(await status()).toMatchObject({ last_outcome: 'refused' });
    await erinGets([['ida', null]]);
  }, 300_000);

  it('is published again once the member is out, and has shown the value to nobody', async () => {
    expect((await change('remove', `members[value eq "${idOf(erin)}"]`)).status).toBe(204);
    await published('what was held back is published', (text) => text.includes('sf1'));
    await until('it holds again', 60_000, async () => ((await guarantee())?.['state'] === 'holds' ? true : undefined));
    expect(await status()).toMatchObject({ broken_guarantees: [], refused_since: null });
    await until('the metric is gone', 60_000, async () => ((await metrics()).includes(METRIC) ? undefined : true));
    await erinGets([['ida', null]]);

    console.log(
      `guarantees: asked ${seen.length} times, ${seen.filter(({ kind }) => kind === 'rows').length} with rows`,
    );
    expect(JSON.stringify(seen)).not.toContain(REAL);
    expect(await deployment.query('grace', READING)).toEqual({ kind: 'rows', rows: [['ida', REAL]] });
  }, 300_000);
});
