import { compile } from '../../src/trino-rules/compile/compile.js';
import { aSnapshot } from '../support/snapshots/snapshot-builder.js';
import { untilRulesInForce } from './loop/rules-in-force.js';
import { runStatement } from './loop/statement.js';
import { editRules, emptyRules } from './running/config-map.js';
import { kubectlOf, openStack } from './stack.js';

const stack = openStack(process.env);
const engine = stack.engines.insecure;
const ENDLESS = 'SELECT count(*) FROM tpch.sf100.lineitem a CROSS JOIN tpch.sf100.lineitem b';

const OF_BO = { queries: { type: 'user', id: 2 } } as const;

/** Ends the queries that a test has begun: a failed one leaves them running. */
const running: (() => Promise<unknown>)[] = [];

interface Page {
  id: string;
  nextUri?: string;
  stats: { state: string };
  error?: { errorName: string };
}

describe('killing the queries of others, on the engine', () => {
  beforeAll(async () => {
    const granted = aSnapshot().user('ana').may('KILL_QUERIES', { engine: true }).user('bo').may('SELECT', 'tpch');
    const lead = granted.user('cy').may('SELECT', 'tpch').user('lea').may('VIEW_QUERIES, KILL_QUERIES', OF_BO);
    const snapshot = lead.user('mia').may('KILL_QUERIES', { engine: true }).mayNot(OF_BO).snapshot();
    const { text } = compile(snapshot);
    await editRules(kubectlOf(stack), text);
    await untilRulesInForce(text, (sql) => asked(snapshot.settings.ownAccount, sql));
  });
  afterEach(() => Promise.all(running.splice(0).map((end) => end())));
  afterAll(() => emptyRules(kubectlOf(stack)));

  it('is for those who hold KILL_QUERIES, by statement', async () => {
    const { id, error } = await begun('bo');
    const kill = `CALL system.runtime.kill_query(query_id => '${id}', message => 'enough')`;
    expect(await asked('cy', kill)).toMatchObject({ kind: 'failed', errorName: 'PERMISSION_DENIED' });
    expect(await asked('ana', kill)).toMatchObject({ kind: 'rows' });
    expect(await error).toBe('ADMINISTRATIVELY_KILLED');
  });

  it('is for them by the API of queries, too', async () => {
    const { id, error } = await begun('bo');
    const killed = async (user: string) =>
      (await fetch(`${engine}/v1/query/${id}`, { method: 'DELETE', headers: { 'X-Trino-User': user } })).status;
    expect(await killed('cy')).toBe(403);
    expect(await killed('ana')).toBe(204);
    expect(await error).toBe('USER_CANCELED');
  });

  it('is for those who hold it over the queries of some of these alone, and of a right over all a deny takes them', async () => {
    const [ofBo, ofCy] = [await begun('bo'), await begun('cy')];
    const call = (id: string) => `CALL system.runtime.kill_query(query_id => '${id}', message => 'enough')`;
    const seen = async (user: string, id: string) =>
      (await fetch(`${engine}/v1/query/${id}`, { headers: { 'X-Trino-User': user } })).status;
    expect([await seen('lea', ofBo.id), await seen('lea', ofCy.id)]).toEqual([200, 403]);
    expect(await asked('lea', call(ofCy.id))).toMatchObject({ kind: 'failed', errorName: 'PERMISSION_DENIED' });
    expect(await asked('mia', call(ofBo.id))).toMatchObject({ kind: 'failed', errorName: 'PERMISSION_DENIED' });
    expect(await asked('lea', call(ofBo.id))).toMatchObject({ kind: 'rows' });
    expect(await asked('mia', call(ofCy.id))).toMatchObject({ kind: 'rows' });
    expect(await Promise.all([ofBo.error, ofCy.error])).toEqual(['ADMINISTRATIVELY_KILLED', 'ADMINISTRATIVELY_KILLED']);
  });
});

function asked(user: string, sql: string) {
  return runStatement(engine, { mode: 'insecure', family: 'X-Trino', user }, sql);
}

/** A query that runs, and does not end by itself: its id, and the name of the error that ends it. One that waits is nobody's yet. */
async function begun(user: string): Promise<{ id: string; error: Promise<string | undefined> }> {
  const headers = { 'X-Trino-User': user };
  const answer = await fetch(`${engine}/v1/statement`, { method: 'POST', body: ENDLESS, headers });
  let page = (await answer.json()) as Page;
  const follow = async (isAtEnd: () => boolean): Promise<void> => {
    while (page.nextUri !== undefined && !isAtEnd()) {
      const next = await fetch(`${engine}${new URL(page.nextUri).pathname}`, { headers });
      page = (await next.json()) as Page;
    }
  };
  running.push(
    async () => page.nextUri && (await fetch(`${engine}${new URL(page.nextUri).pathname}`, { method: 'DELETE' })),
  );
  await follow(() => page.stats.state === 'RUNNING');
  const ended = async (): Promise<string | undefined> => {
    await follow(() => false);
    return page.error?.errorName;
  };
  return { id: page.id, error: ended() };
}
