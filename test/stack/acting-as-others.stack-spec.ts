import { compile } from '../../src/trino-rules/compile/compile.js';
import { checkRules } from '../../src/trino-rules/verify/check.js';
import { aSnapshot } from '../support/snapshots/snapshot-builder.js';
import { untilRulesInForce } from './loop/rules-in-force.js';
import { type Asker, runStatement } from './loop/statement.js';
import { editRules, emptyRules } from './running/config-map.js';
import { kubectlOf, openStack } from './stack.js';

const stack = openStack(process.env);

/** Two dashboards: ana views the first, bo the second, and the first may act as the second by name, which has no effect. */
const snapshot = aSnapshot()
  .group('viewers', ['ana'], ['reporter'])
  .may('SELECT', 'tpch')
  .user('bo')
  .may('SELECT', 'tpch')
  .user('cy')
  .may('SELECT', 'tpch')
  .everyone()
  .may('SELECT', 'tpch.tiny')
  .engine('dash-one')
  .may('IMPERSONATE', { as: { type: 'group', id: 1 } })
  .may('IMPERSONATE', { as: { type: 'engine', name: 'dash-two' } })
  .engine('dash-two')
  .may('IMPERSONATE', { as: { type: 'user', id: 2 } })
  .engine('unknown')
  .mayNot({ as: { type: 'everyone' } })
  .snapshot();

const NATIONS = 'SELECT count(*) FROM tpch.tiny.nation';
const WHO = 'SELECT current_user';

describe('acting as others, on the engine', () => {
  beforeAll(async () => {
    const { text } = compile(snapshot);
    expect(checkRules(text, snapshot)).toEqual([]);
    await editRules(kubectlOf(stack), text);
    await untilRulesInForce(text, (sql) => asked({ user: snapshot.settings.ownAccount }, sql));
  });
  afterAll(() => emptyRules(kubectlOf(stack)));

  it("is under a viewer's name, with the viewer's rights", async () => {
    for (const user of ['ana', 'reporter'])
      expect(await asked({ user, originalUser: 'dash-one' }, WHO)).toEqual({ kind: 'rows', rows: [[user]] });
    expect(await asked({ user: 'ana', originalUser: 'dash-one' }, NATIONS)).toEqual({ kind: 'rows', rows: [[25]] });
    expect(await asked({ user: 'bo', originalUser: 'dash-two' }, WHO)).toEqual({ kind: 'rows', rows: [['bo']] });
    // The dashboard's own name has what everyone has, and no more.
    const wide = 'SELECT count(*) FROM tpch.sf1.nation';
    expect(await asked({ user: 'ana', originalUser: 'dash-one' }, wide)).toEqual({ kind: 'rows', rows: [[25]] });
    expect(await asked({ user: 'dash-one' }, wide)).toMatchObject({ kind: 'failed', errorName: 'PERMISSION_DENIED' });
  });

  it.each(['bo', 'cy', 'stranger', 'service-account-grantline', 'dash-two'])(
    'is as nobody else, not as %s',
    async (user) => {
      expect(await asked({ user, originalUser: 'dash-one' }, WHO)).toMatchObject(refused('dash-one', user));
    },
  );

  it.each(['ana', 'bo', 'dash-one'])(
    'is for nobody else: a viewer, a stranger and a named one do not act as %s',
    async (user) => {
      for (const originalUser of ['cy', 'stranger', 'unknown'])
        expect(await asked({ user, originalUser }, WHO)).toMatchObject(refused(originalUser, user));
    },
  );

  it("does not reach a second dashboard's viewers by a chain", async () => {
    const chain = { signedIn: 'dash-one', originalUser: 'dash-two', user: 'bo' };
    expect(await asked(chain, WHO)).toMatchObject(refused('dash-one', 'dash-two'));
    // Each step is asked about: the second one alone is allowed.
    expect(await asked({ ...chain, signedIn: 'dash-two' }, WHO)).toEqual({ kind: 'rows', rows: [['bo']] });
  });

  it('is nothing by itself, and a deny makes nobody known: everyone has what an unknown principal has not', async () => {
    expect(await asked({ user: 'dash-one' }, NATIONS)).toEqual({ kind: 'rows', rows: [[25]] });
    expect(await asked({ user: 'unknown' }, NATIONS)).toMatchObject({ kind: 'failed', errorName: 'PERMISSION_DENIED' });
  });
});

function refused(actor: string, user: string) {
  const message = expect.stringContaining(`User ${actor} cannot impersonate user ${user}`) as string;
  return { kind: 'failed', errorName: 'PERMISSION_DENIED', message };
}

function asked(asker: Omit<Asker, 'mode' | 'family'>, sql: string) {
  return runStatement(stack.engines.insecure, { mode: 'insecure', family: 'X-Trino', ...asker }, sql);
}
