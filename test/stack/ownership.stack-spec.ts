import { AccessIndex } from '../../src/trino-rules/answers/access-index.js';
import { explain } from '../../src/trino-rules/answers/explanation.js';
import { compile } from '../../src/trino-rules/compile/compile.js';
import { PRIVILEGE_TERMS, type Privilege } from '../../src/trino-rules/model/privilege.js';
import { checkRules } from '../../src/trino-rules/verify/check.js';
import { namedNode } from '../support/rules/named-node.js';
import { at, aSnapshot } from '../support/snapshots/snapshot-builder.js';
import { untilRulesInForce } from './loop/rules-in-force.js';
import { type Answer, runStatement } from './loop/statement.js';
import { editRules, emptyRules } from './running/config-map.js';
import { kubectlOf, openStack } from './stack.js';

const stack = openStack(process.env);
const kubectl = kubectlOf(stack);

const SCHEMA = 'memory.owned';
const RENAMED = 'memory.owned_open';
const ORDERS = `${SCHEMA}.orders`;

/** Owners of the catalog are ana, to whom a table is filtered, bo, and cy, to whom a column is masked; dee and eve own its schemas alone. */
const snapshot = aSnapshot()
  .group('owners', ['ana', 'bo', 'cy'])
  .may('SELECT, INSERT, OWNERSHIP', 'memory')
  .user('ana')
  .seesOnly(ORDERS, 'id > 1')
  .user('cy')
  .seesMasked(ORDERS, 'card', "'*'")
  .group('schema owners', ['dee', 'eve'])
  .may('SCHEMA_OWNERSHIP', 'memory')
  .user('dee')
  .mayNot(ORDERS)
  .snapshot();

/** The connector drops no columns, which it says after the engine has asked whether one may. */
const DROP_COLUMN = `ALTER TABLE ${ORDERS} DROP COLUMN id`;
const ON_TABLE = [
  `ALTER TABLE ${ORDERS} RENAME COLUMN card TO open_card`,
  `ALTER TABLE ${ORDERS} ADD COLUMN note varchar`,
  DROP_COLUMN,
  `COMMENT ON TABLE ${ORDERS} IS 'mine'`,
  `ALTER TABLE ${ORDERS} RENAME TO ${SCHEMA}.orders_open`,
  `DROP TABLE ${ORDERS}`,
];
const ON_SCHEMA = [`ALTER SCHEMA ${SCHEMA} RENAME TO owned_open`, `DROP SCHEMA ${SCHEMA} CASCADE`];

const ask = (user: string, sql: string): Promise<Answer> =>
  runStatement(stack.engines.insecure, { mode: 'insecure', family: 'X-Trino', user }, sql);

/** The names of the errors; null: it ran. */
async function outcomes(user: string, statements: readonly string[]): Promise<Record<string, string | null>> {
  const found: Record<string, string | null> = {};
  for (const sql of statements) {
    const answer = await ask(user, sql);
    found[sql] = answer.kind === 'failed' ? answer.errorName : answer.kind === 'http' ? answer.text : null;
  }
  return found;
}

const all = <T>(statements: readonly string[], outcome: T): Record<string, T> =>
  Object.fromEntries(statements.map((sql) => [sql, outcome]));

/** The statements run, one after the other. */
const ran = async (user: string, ...statements: string[]): Promise<void> =>
  expect(await outcomes(user, statements)).toEqual(all(statements, null));

/** The kinds of policies by which the explanation refuses it; null: it is allowed. */
function refusedBy(user: string, privilege: Privilege, path: string): string[] | null {
  const id = snapshot.users.find(({ name }) => name === user)?.id ?? 0;
  const question = PRIVILEGE_TERMS[privilege].questionAt(namedNode(snapshot, at(path)));
  const { allowed, policies } = explain(new AccessIndex(snapshot), { type: 'user', id }, question);
  return allowed ? null : policies.map(({ kind }) => kind);
}

describe('an owner, on the engine', () => {
  beforeAll(async () => {
    const { text } = compile(snapshot);
    expect(checkRules(text, snapshot)).toEqual([]);
    await editRules(kubectl, text);
    await untilRulesInForce(text, (sql) => ask(snapshot.settings.ownAccount, sql));
  });
  beforeEach(async () => {
    const rows = `SELECT * FROM (VALUES (1, 'x'), (2, 'y')) AS t (id, card)`;
    const gone = [SCHEMA, RENAMED].map((schema) => `DROP SCHEMA IF EXISTS ${schema} CASCADE`);
    await ran('bo', ...gone, `CREATE SCHEMA ${SCHEMA}`, `CREATE TABLE ${ORDERS} AS ${rows}`);
  });
  afterAll(() => emptyRules(kubectl));

  it('to whom a row filter applies changes neither the table nor its schema, and reads the rows of the filter', async () => {
    const statements = [...ON_TABLE, ...ON_SCHEMA];
    expect(await outcomes('ana', statements)).toEqual(all(statements, 'PERMISSION_DENIED'));
    expect(await ask('ana', `SELECT id, card FROM ${ORDERS}`)).toEqual({ kind: 'rows', rows: [[2, 'y']] });
    expect(refusedBy('ana', 'TABLE_OWNERSHIP', ORDERS)).toEqual(['row_filter']);
    expect(refusedBy('ana', 'SCHEMA_OWNERSHIP', SCHEMA)).toEqual(['row_filter']);

    const notes = `${SCHEMA}.notes`;
    await ran('ana', `CREATE TABLE ${notes} AS SELECT 1 AS n`, `ALTER TABLE ${notes} RENAME COLUMN n TO m`);
    await ran('ana', `DROP TABLE ${notes}`, `CREATE SCHEMA ${RENAMED}`, `DROP SCHEMA ${RENAMED}`);
  });

  it('to whom a column is masked does not rename it, and reads the mask', async () => {
    expect(await outcomes('cy', ON_TABLE)).toEqual(all(ON_TABLE, 'PERMISSION_DENIED'));
    expect(await outcomes('cy', ON_SCHEMA)).toEqual(all(ON_SCHEMA, 'PERMISSION_DENIED'));
    expect(await ask('cy', `SELECT DISTINCT card FROM ${ORDERS}`)).toEqual({ kind: 'rows', rows: [['*']] });
    expect(refusedBy('cy', 'TABLE_OWNERSHIP', ORDERS)).toEqual(['column_mask']);
  });

  it('of schemas alone neither renames nor drops one that has a table denied to them', async () => {
    expect(await outcomes('dee', ON_SCHEMA)).toEqual(all(ON_SCHEMA, 'PERMISSION_DENIED'));
    expect(refusedBy('dee', 'SCHEMA_OWNERSHIP', SCHEMA)).toEqual(['deny']);
    expect(await ask('bo', `SELECT count(*) FROM ${ORDERS}`)).toEqual({ kind: 'rows', rows: [[2]] });
    await ran('dee', `CREATE SCHEMA ${RENAMED}`, `DROP SCHEMA ${RENAMED}`);
  });

  it('without a restriction does all of it', async () => {
    const [rename = '', drop = ''] = ON_SCHEMA;
    expect(refusedBy('bo', 'TABLE_OWNERSHIP', ORDERS)).toBeNull();
    expect(refusedBy('eve', 'SCHEMA_OWNERSHIP', SCHEMA)).toBeNull();
    await ran('eve', rename, `ALTER SCHEMA ${RENAMED} RENAME TO owned`, drop);
  });

  it.each(ON_TABLE)('without a restriction: %s', async (sql) => {
    expect(await outcomes('bo', [sql])).toEqual({ [sql]: sql === DROP_COLUMN ? 'NOT_SUPPORTED' : null });
  });
});
