import { compile } from '../../src/trino-rules/compile/compile.js';
import { aSnapshot } from '../support/snapshots/snapshot-builder.js';
import { untilRulesInForce } from './loop/rules-in-force.js';
import { type Answer, runStatement } from './loop/statement.js';
import { editRules, emptyRules } from './running/config-map.js';
import { kubectlOf, openStack } from './stack.js';

const stack = openStack(process.env);
const kubectl = kubectlOf(stack);

const AS_BOB = { user: 'bob' };
const SUB_QUERY = "EXISTS (SELECT 1 FROM tpch.sf1.region WHERE current_user = 'alice')";

const ask = (user: string, sql: string): Promise<Answer> =>
  runStatement(stack.engines.insecure, { mode: 'insecure', family: 'X-Trino', user }, sql);

/** What Grantline never writes, and an import reads. */
describe('a filter under another identity, on the engine', () => {
  beforeAll(async () => {
    const { text } = compile(
      aSnapshot().user('alice').may('SELECT', 'tpch').user('bob').may('SELECT', 'tpch').snapshot(),
    );
    const on = (table: string, rule: object): object => ({
      ...{ user: 'alice', catalog: 'tpch', schema: 'tiny', table, privileges: ['SELECT'] },
      ...rule,
    });
    const masked = { name: 'name', mask: 'CAST(current_user AS varchar(25))', mask_environment: AS_BOB };
    const rules = [
      on('nation', { filter: "current_user = 'bob'", filter_environment: AS_BOB }),
      on('region', { filter: "current_user = 'alice'", filter_environment: AS_BOB, columns: [masked] }),
      on('supplier', { filter: SUB_QUERY, filter_environment: AS_BOB }),
      on('customer', { filter: SUB_QUERY }),
      { user: 'alice', catalog: 'tpch', schema: 'sf1', privileges: [] },
    ];
    const edited = text.replace('"tables":[', `"tables":[${rules.map((rule) => JSON.stringify(rule)).join()},`);
    await editRules(kubectl, edited);
    await untilRulesInForce(edited, (sql) => ask('service-account-grantline', sql));
  });
  afterAll(() => emptyRules(kubectl));

  it('asks for who is asking, and checks sub-queries alone as that identity', async () => {
    const countOf = (table: string) => ask('alice', `SELECT count(*) FROM tpch.tiny.${table}`);
    expect(await countOf('nation')).toEqual({ kind: 'rows', rows: [[0]] });
    expect(await countOf('supplier')).toEqual({ kind: 'rows', rows: [[100]] });
    expect(await countOf('customer')).toMatchObject({ kind: 'failed', errorName: 'PERMISSION_DENIED' });
    const names = await ask('alice', 'SELECT name FROM tpch.tiny.region');
    expect(names).toEqual({ kind: 'rows', rows: Array.from({ length: 5 }, () => ['alice']) });
  });
});
