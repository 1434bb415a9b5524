import { compile } from '../../src/trino-rules/compile/compile.js';
import type { Snapshot } from '../../src/trino-rules/model/snapshot.js';
import { checkRules } from '../../src/trino-rules/verify/check.js';
import { aSnapshot } from '../support/snapshots/snapshot-builder.js';
import { untilRulesInForce } from './loop/rules-in-force.js';
import { type Answer, runStatement } from './loop/statement.js';
import { editRules, emptyRules } from './running/config-map.js';
import { kubectlOf, openStack } from './stack.js';

const stack = openStack(process.env);
const kubectl = kubectlOf(stack);

const OWNERS = 'SELECT DISTINCT "user" FROM system.runtime.queries ORDER BY 1';
const NODES = 'SELECT count(*) FROM system.runtime.nodes';
const REGIONS = 'SELECT count(*) FROM tpch.tiny.region';
const CATALOGS = 'SELECT count(*) FROM system.metadata.catalogs';
const SCHEMAS = 'SELECT count(*) FROM system.jdbc.schemas';

const ask = (user: string, sql: string): Promise<Answer> =>
  runStatement(stack.engines.insecure, { mode: 'insecure', family: 'X-Trino', user }, sql);

/** `rows`, or the name of the error. */
async function outcomes(user: string, ...statements: string[]): Promise<string[]> {
  const found: string[] = [];
  for (const sql of statements) {
    const answer = await ask(user, sql);
    found.push(answer.kind === 'failed' ? answer.errorName : answer.kind === 'http' ? answer.text : answer.kind);
  }
  return found;
}

/** Proves the rules of a snapshot, and publishes them until the engine uses them. */
async function publish(snapshot: Snapshot): Promise<void> {
  const { text } = compile(snapshot);
  expect(checkRules(text, snapshot)).toEqual([]);
  await editRules(kubectl, text);
  await untilRulesInForce(text, (sql) => ask(snapshot.settings.ownAccount, sql));
}

const DENIED = 'PERMISSION_DENIED';
const KILL_QUERY = 'system.runtime.kill_query()';

describe('the catalog system, on the engine', () => {
  beforeAll(async () => {
    const builder = aSnapshot().user('ana').may('SELECT', 'system.runtime').user('bo').may('SELECT', 'tpch');
    builder.user('vic').may('SELECT', 'system').may('VIEW_QUERIES', { engine: true });
    builder.user('cy').may('SELECT', 'tpch').mayNot('system').user('dee').may('SELECT, OWNERSHIP', '');
    builder.user('eve').may('SELECT', 'system').mayNot('system.runtime').user('fay').may('SELECT', 'tpch');
    builder.user('fay').mayNot('system.jdbc').user('gus').may('KILL_QUERIES', { engine: true }).mayNot('system');
    builder.user('hal').may('SELECT', 'system.runtime.nodes').user('ida').may('CALL_PROCEDURE', KILL_QUERY);
    builder.user('jon').may('KILL_QUERIES', { engine: true }).mayNot(KILL_QUERY);
    builder.user('kim').may('KILL_QUERIES', { queries: { type: 'user', id: 1 } });
    await publish(builder.snapshot());
  });
  afterAll(() => emptyRules(kubectl));

  it('is read where it is granted; the engine shows the own queries, and all of them to those who view them', async () => {
    expect(await outcomes('bo', REGIONS)).toEqual(['rows']);
    expect(await ask('ana', OWNERS)).toEqual({ kind: 'rows', rows: [['ana']] });
    const all = await ask('vic', OWNERS);
    expect(all.kind === 'rows' && all.rows.flat()).toEqual(expect.arrayContaining(['ana', 'bo', 'vic']));
    expect(await outcomes('ana', NODES, CATALOGS, SCHEMAS, REGIONS)).toEqual(['rows', 'rows', 'rows', DENIED]);
  });

  it('is shut otherwise, also to those who have everything', async () => {
    for (const user of ['bo', 'dee', 'eve'])
      expect([user, ...(await outcomes(user, OWNERS, NODES, CATALOGS, SCHEMAS))]).toEqual([
        ...[user, DENIED, DENIED],
        ...['rows', 'rows'],
      ]);
    expect(await outcomes('dee', REGIONS, 'CREATE SCHEMA system.mine')).toEqual(['rows', DENIED]);
  });

  it('is taken by a deny, with what everybody else reads there', async () => {
    expect(await outcomes('cy', SCHEMAS, CATALOGS, NODES, REGIONS)).toEqual([DENIED, DENIED, DENIED, 'rows']);
    expect(await outcomes('fay', SCHEMAS, CATALOGS, REGIONS)).toEqual([DENIED, 'rows', 'rows']);
  });

  it('is entered by those who kill queries, of which a deny of reading takes nothing', async () => {
    const kill = `CALL system.runtime.kill_query(query_id => '20200101_000000_00000_aaaaa')`;
    expect(await outcomes('gus', kill, CATALOGS)).toEqual(['NOT_FOUND', DENIED]);
    expect(await outcomes('ana', kill)).toEqual([DENIED]);
    expect(await outcomes('kim', kill)).toEqual(['NOT_FOUND']);
  });

  it('has its procedure without the right to kill, and the right to kill without its procedure', async () => {
    const kill = `CALL system.runtime.kill_query(query_id => '20200101_000000_00000_aaaaa')`;
    expect(await outcomes('ida', kill, CATALOGS)).toEqual(['NOT_FOUND', 'rows']);
    expect(await outcomes('jon', kill, CATALOGS)).toEqual([DENIED, DENIED]);
  });

  it('is read table by table', async () => {
    expect(await outcomes('hal', NODES, OWNERS, SCHEMAS)).toEqual(['rows', DENIED, 'rows']);
  });
});

describe('a catalog that the rules do not name, on the engine', () => {
  const builder = (settings: Partial<Snapshot['settings']>) =>
    aSnapshot()
      .with({ readableCatalogs: [], ...settings })
      .user('ana')
      .may('SELECT', '')
      .user('bo')
      .may('SELECT', 'memory');
  afterAll(() => emptyRules(kubectl));

  it('is open to those who have everything, and shut to others', async () => {
    const { text } = compile(builder({}).snapshot());
    expect(text).not.toContain('tpch');
    await publish(builder({}).snapshot());
    expect(await outcomes('ana', REGIONS)).toEqual(['rows']);
    expect(await outcomes('bo', REGIONS)).toEqual([DENIED]);
    expect(await outcomes('service-account-grantline', REGIONS)).toEqual([DENIED]);
  });

  it("is shut to all where it is the service's own", async () => {
    await publish(builder({ metadataCatalog: 'tpch' }).snapshot());
    for (const user of ['ana', 'bo', 'service-account-grantline'])
      expect([user, ...(await outcomes(user, REGIONS))]).toEqual([user, DENIED]);
  });
});
