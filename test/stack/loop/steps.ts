import assert from 'node:assert/strict';

import { READABLE_CATALOG, WRITABLE_CATALOG } from '../running/grantline.js';
import { grant, makeGroup, publish, publishByJob, revokeGrantsOf } from './administration.js';
import type { Answer } from './statement.js';
import { ADMINISTRATOR, type QueryOutcome, type Deployment } from './deployment.js';

/** One step of the loop: a title, and a function that runs and checks it and reports what it saw. */
export interface Step {
  title: string;
  run: (deployment: Deployment) => Promise<string>;
}

/** The first is granted something, the second never; the others get theirs through groups: both, and one of two. */
const PEOPLE = ['ana', 'ben', 'cleo', 'dora', 'emil'];
const GRANTED = `${READABLE_CATALOG}.tiny.nation`;
const UNGRANTED = `${READABLE_CATALOG}.sf1.nation`;
const COUNT_GRANTED = `SELECT count(*) FROM ${GRANTED}`;

/**
 * Register, log in, be granted something, have it published, use it, lose it again; each step on the real parts.
 * The suite runs it in both verification modes and with both families of headers; the demonstration reports it.
 */
export const LOOP: readonly Step[] = [
  {
    title: 'an administrator is made on the command line; people register and log in',
    run: async (deployment) => {
      await deployment.makeAdministrator();
      for (const name of PEOPLE) await deployment.signUp(name);
      return `${ADMINISTRATOR} administrates; ${PEOPLE.join(', ')} have accounts`;
    },
  },
  {
    title: 'the first publication lets only the service account in',
    run: async (deployment) => {
      assert.equal(JSON.stringify((await deployment.configMap()).data), '{}');
      assert.equal(await publish(deployment), 'applied');
      const { data } = await deployment.configMap();
      assert.equal(Object.keys(data).join(), 'rules.json');
      for (const name of PEOPLE) assertRefused(await deployment.query(name, COUNT_GRANTED));
      return `rules.json is in the ConfigMap; the engine refuses ${PEOPLE.join(', ')}`;
    },
  },
  {
    title: 'the service account writes in the writable catalog and reads in the readable one',
    run: async (deployment) => {
      const schema = `${WRITABLE_CATALOG}.${deployment.schema}`;
      for (const statement of [
        `CREATE SCHEMA ${schema}`,
        `CREATE TABLE ${schema}.shipments (id bigint, weight integer)`,
        `INSERT INTO ${schema}.shipments VALUES (1, 10), (2, 20)`,
        `CREATE VIEW ${schema}.heavy AS SELECT id FROM ${schema}.shipments WHERE weight > 10`,
      ]) {
        assert.equal((await deployment.onEngine(statement)).kind, 'rows', statement);
      }
      assertRows(await deployment.onEngine(`SELECT id FROM ${schema}.heavy`), [[2]]);
      assertRows(await deployment.onEngine(COUNT_GRANTED), [[25]]);
      const written = await deployment.onEngine(`CREATE TABLE ${READABLE_CATALOG}.tiny.mine (id bigint)`);
      assert.equal(written.kind === 'failed' && written.errorName, 'PERMISSION_DENIED');
      return `${schema}.shipments and a view on it exist; ${READABLE_CATALOG} can be read, not written`;
    },
  },
  {
    title: 'a schema is granted to one person, and published',
    run: async (deployment) => {
      const former = (await deployment.configMap()).data['rules.json'];
      await grant(deployment, { type: 'user', id: deployment.person('ana').id }, `${READABLE_CATALOG}.tiny`, 'SELECT');
      assertRefused(await deployment.query('ana', COUNT_GRANTED)); // not before it is published
      assert.equal(await publish(deployment), 'applied');
      const { data } = await deployment.configMap();
      assert.notEqual(data['rules.json'], former);
      assert.equal(data['rules.json.bak'], former);
      await deployment.untilConfirmed();
      return 'the ConfigMap holds the new rules, and the previous ones under rules.json.bak; Grantline has seen the engine use them';
    },
  },
  {
    title: 'the user reads what was granted; the engine refuses the rest, and all other users',
    run: async (deployment) => {
      const names = `SELECT name FROM ${GRANTED} ORDER BY name LIMIT 2`;
      assertRows(await deployment.query('ana', names), [['ALGERIA'], ['ARGENTINA']]);
      const refusal = assertRefused(await deployment.query('ana', `SELECT name FROM ${UNGRANTED}`));
      await assertNeverSeen(deployment, 'ben');
      return `ana reads ${GRANTED}; ${UNGRANTED}: "${refusal}"; ben sees neither`;
    },
  },
  {
    title: 'a run without changes leaves the ConfigMap alone',
    run: async (deployment) => {
      const { resourceVersion } = await deployment.configMap();
      assert.equal(await publish(deployment), 'no_change');
      assert.equal((await deployment.configMap()).resourceVersion, resourceVersion);
      return `resourceVersion is still ${resourceVersion}; the log has TRINO_ACL_SYNC_NO_CHANGE`;
    },
  },
  {
    title: 'a member of two groups has what either gives',
    run: async (deployment) => {
      const table = `${WRITABLE_CATALOG}.${deployment.schema}.shipments`;
      await grant(deployment, await makeGroup(deployment, 'readers', ['cleo', 'dora']), table, 'SELECT');
      await grant(deployment, await makeGroup(deployment, 'writers', ['cleo', 'emil']), table, 'INSERT');
      assert.equal(await publish(deployment), 'applied');
      const insert = `INSERT INTO ${table} VALUES (3, 30)`;
      const count = `SELECT count(*) FROM ${table}`;
      assertRefused(await deployment.query('dora', insert));
      assertRefused(await deployment.query('emil', count));
      assert.equal((await deployment.query('cleo', insert)).kind, 'rows');
      assertRows(await deployment.query('cleo', count), [['3']]);
      return `cleo reads and writes ${table}; dora only reads, emil only writes`;
    },
  },
  {
    title: 'after the grant is revoked, and that is published, the engine refuses again',
    run: async (deployment) => {
      const former = (await deployment.configMap()).data['rules.json'];
      await revokeGrantsOf(deployment, 'ana');
      assert.equal(await publishByJob(deployment), 'applied');
      assert.equal((await deployment.configMap()).data['rules.json.bak'], former);
      const refusal = assertRefused(await deployment.query('ana', COUNT_GRANTED));
      await assertNeverSeen(deployment, 'ben');
      return `ana again: "${refusal}"; this time the run was a Job made from the CronJob`;
    },
  },
];

/** Long after the publication: how the service finds out is the same in every mode, and takes half a minute. */
export const REPAIR: Step = {
  title: 'rules that an edit by hand breaks are found by asking the engine, and overwritten by the next run',
  run: async (deployment) => {
    await deployment.untilConfirmed();
    const rules = (await deployment.configMap()).data['rules.json'] ?? '';
    const hash = /grantline_rules_([0-9a-f]+)/.exec(rules)?.[1] ?? '';
    const broken = '{"catalogs":[';
    await deployment.editRules(broken);
    await deployment.untilLogged('TRINO_ACL_RULES_BROKEN', hash, 120_000);
    assert.equal(await publishByJob(deployment), 'applied'); // the service itself has no schedule here
    const { data } = await deployment.configMap();
    assert.equal(data['rules.json'], rules);
    assert.equal(data['rules.json.bak'], broken);
    await deployment.untilLive();
    assertRefused(await deployment.query('ana', COUNT_GRANTED));
    return 'the engine failed every statement; the service reported it, and the next run published the same rules again';
  },
};

function assertRows(outcome: QueryOutcome | Answer, rows: unknown[][]): void {
  // As text: what was parsed in jest's other realm equals nothing of this one.
  assert.equal(JSON.stringify(outcome), JSON.stringify({ kind: 'rows', rows }));
}

/** @returns the engine's words */
function assertRefused(outcome: QueryOutcome): string {
  assert.equal(outcome.kind, 'failed', JSON.stringify(outcome));
  assert.equal(outcome.engineErrorName, 'PERMISSION_DENIED', JSON.stringify(outcome));
  return outcome.message;
}

/** Neither through Grantline nor on the engine itself. */
async function assertNeverSeen(deployment: Deployment, name: string): Promise<void> {
  for (const sql of [COUNT_GRANTED, `SHOW TABLES FROM ${READABLE_CATALOG}.tiny`]) {
    assertRefused(await deployment.query(name, sql));
    const answer = await deployment.onEngine(sql, name);
    assert.equal(answer.kind === 'failed' && answer.errorName, 'PERMISSION_DENIED', JSON.stringify(answer));
  }
}
