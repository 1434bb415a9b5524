import { AccessIndex } from '../../src/trino-rules/answers/access-index.js';
import { explain } from '../../src/trino-rules/answers/explanation.js';
import { compile } from '../../src/trino-rules/compile/compile.js';
import type { Snapshot } from '../../src/trino-rules/model/snapshot.js';
import { checkRules } from '../../src/trino-rules/verify/check.js';
import { aSnapshot } from '../support/snapshots/snapshot-builder.js';
import { untilRulesInForce } from './loop/rules-in-force.js';
import { type Answer, runStatement } from './loop/statement.js';
import { editRules, emptyRules } from './running/config-map.js';
import { until } from './running/until.js';
import { kubectlOf, openStack } from './stack.js';

const stack = openStack(process.env);
const kubectl = kubectlOf(stack);

/** The `memory` catalog keeps SQL functions; neither catalog of the stack has procedures or table functions of its own. */
const FUNCTION = 'memory.default.twice';
const CALLED = `SELECT ${FUNCTION}(21)`;
const FROM_MAKER = {
  catalogs: [{ user: 'maker', catalog: 'memory', allow: 'all' }],
  schemas: [{ user: 'maker', owner: true }],
  tables: [{ user: 'maker', privileges: ['SELECT', 'INSERT', 'DELETE', 'UPDATE', 'OWNERSHIP', 'GRANT_SELECT'] }],
  functions: [{ user: 'maker', catalog: 'memory', privileges: ['EXECUTE', 'OWNERSHIP'] }],
  queries: [{ user: 'maker', allow: ['execute'] }],
};

const ask = (user: string, sql: string): Promise<Answer> =>
  runStatement(stack.engines.insecure, { mode: 'insecure', family: 'X-Trino', user }, sql);

async function answered(user: string, sql: string, answer: (answer: Answer) => boolean): Promise<Answer> {
  return until(`the engine answers ${user}: ${sql}`, 60_000, async () => {
    const found = await ask(user, sql);
    return answer(found) ? found : undefined;
  });
}

const isRows = ({ kind }: Answer): boolean => kind === 'rows';
const isDenied = (found: Answer): boolean => found.kind === 'failed' && found.errorName === 'PERMISSION_DENIED';

/** Proves the rules of a snapshot, and publishes them until the engine uses them. */
async function publish(snapshot: Snapshot): Promise<void> {
  const { text } = compile(snapshot);
  expect(checkRules(text, snapshot)).toEqual([]);
  await editRules(kubectl, text);
  await untilRulesInForce(text, (sql) => ask(snapshot.settings.ownAccount, sql));
}

const readers = () =>
  aSnapshot().user('ana').may('SELECT, EXECUTE_FUNCTION', 'memory').user('bo').may('SELECT', 'memory');

describe('a function of a catalog, on the engine', () => {
  beforeAll(async () => {
    await editRules(kubectl, JSON.stringify(FROM_MAKER));
    const make = `CREATE OR REPLACE FUNCTION ${FUNCTION}(n bigint) RETURNS bigint RETURN n * 2`;
    await answered('maker', make, isRows);
    await answered('maker', 'CREATE TABLE IF NOT EXISTS memory.default.orders AS SELECT 1 AS id', isRows);
  });
  afterAll(() => emptyRules(kubectl));

  it('is run by who may execute functions there, and by nobody else', async () => {
    await publish(readers().snapshot());
    expect(await answered('ana', CALLED, isRows)).toEqual({ kind: 'rows', rows: [[42]] });
    expect(await answered('bo', CALLED, isDenied)).toMatchObject({
      message: expect.stringContaining(FUNCTION) as string,
    });
    expect(await ask('bo', 'SELECT abs(-1)')).toEqual({ kind: 'rows', rows: [[1]] });
  });

  it('is not run by somebody to whom a filter applies in that catalog, and the explanation names it', async () => {
    const snapshot = readers().user('ana').seesOnly('memory.default.orders', 'id > 0').snapshot();
    await publish(snapshot);
    await answered('ana', CALLED, isDenied);
    expect(await ask('ana', 'SELECT id FROM memory.default.orders')).toEqual({ kind: 'rows', rows: [[1]] });

    const resource = { catalog: 'memory', schema: 'default', routine: 'twice' };
    const question = { about: 'routine', kind: 'function', resource, privilege: 'EXECUTE' } as const;
    const why = explain(new AccessIndex(snapshot), { type: 'user', id: 1 }, question);
    expect([why.allowed, why.grants.map(({ id }) => id), why.policies.map(({ kind }) => kind)]).toEqual([
      false,
      [1],
      ['row_filter'],
    ]);
  });

  it('is run again where the filter is gone; a deny of that one function takes that one', async () => {
    await publish(readers().snapshot());
    await answered('ana', CALLED, isRows);
    await publish(readers().user('ana').mayNot(`${FUNCTION}()`).snapshot());
    await answered('ana', CALLED, isDenied);
    expect(await ask('ana', 'SELECT id FROM memory.default.orders')).toEqual({ kind: 'rows', rows: [[1]] });
  });

  it('is called for the readers of a view whose owner has GRANT_EXECUTE_FUNCTION, and not where it is denied', async () => {
    const view = 'memory.default.doubled';
    const writers = () =>
      readers().user('wim').may('SELECT, GRANT_SELECT, OWNERSHIP, GRANT_EXECUTE_FUNCTION', 'memory').user('bo');
    await publish(writers().snapshot());
    await answered(
      'wim',
      `CREATE OR REPLACE VIEW ${view} AS SELECT ${FUNCTION}(id) AS n FROM memory.default.orders`,
      isRows,
    );
    expect(await answered('bo', `SELECT n FROM ${view}`, isRows)).toEqual({ kind: 'rows', rows: [[2]] });
    await answered('bo', CALLED, isDenied);

    await publish(writers().user('wim').mayNot('memory', 'GRANT_EXECUTE_FUNCTION').snapshot());
    // The engine names the function, and blames the view.
    const refused = await answered('bo', `SELECT n FROM ${view}`, ({ kind }) => kind === 'failed');
    expect(refused).toMatchObject({
      message: expect.stringContaining(`Cannot execute function ${FUNCTION}`) as string,
    });
    expect(await ask('wim', CALLED)).toEqual({ kind: 'rows', rows: [[42]] });
    await publish(writers().user('wim').mayNot('memory', 'EXECUTE_FUNCTION').snapshot());
    await answered('wim', CALLED, isDenied);
  });
});
