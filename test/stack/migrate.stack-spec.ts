import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { readUsers } from '../../src/commands/users-file.js';
import { BuiltCheckout, shellBlocks, timeless } from '../support/service/built-checkout.js';
import { untilRulesInForce } from './loop/rules-in-force.js';
import { runStatement, type Answer } from './loop/statement.js';
import { startEngine } from './running/engine.js';
import { Processes } from './running/processes.js';
import { openStack } from './stack.js';

const BLOCKS = shellBlocks(readFileSync('docs/migrate.md', 'utf8'));
const USERS = readUsers(readFileSync('docs/examples/company-users.txt', 'utf8'));
/** In no list. */
const STRANGER = 'eve';

/** In this order for each person: what one makes the next finds. */
const STATEMENTS = [
  'SELECT 1',
  'SHOW CATALOGS',
  'SHOW SCHEMAS FROM tpch',
  'SHOW TABLES FROM tpch.tiny',
  'SELECT count(*), min(nationkey), max(nationkey) FROM tpch.tiny.customer',
  'SELECT phone FROM tpch.tiny.customer ORDER BY custkey LIMIT 3',
  'SELECT count(*) FROM tpch.tiny.nation',
  'SELECT count(*) FROM tpch.sf1.nation',
  'SELECT count(*) FROM (SELECT 1 FROM tpch.tiny.customer c JOIN tpch.tiny.orders o ON c.custkey = o.custkey)',
  "SELECT count(*) FROM system.jdbc.catalogs WHERE table_cat = 'tpch'",
  'SELECT count(*) FROM system.runtime.nodes',
  'CREATE SCHEMA memory.lab',
  'CREATE TABLE memory.lab.kept AS SELECT * FROM tpch.tiny.region',
  'INSERT INTO memory.lab.kept SELECT * FROM tpch.tiny.region',
  'SELECT count(*) FROM memory.lab.kept',
  'CREATE VIEW memory.lab.seen AS SELECT name FROM tpch.tiny.nation',
  'DROP VIEW memory.lab.seen',
  'DROP TABLE memory.lab.kept',
  'DROP SCHEMA memory.lab',
  'CREATE SCHEMA memory.elsewhere',
  "SET SESSION query_max_run_time = '1h'",
  "SHOW FUNCTIONS LIKE 'abs'",
] as const;

describe('the walk in docs/migrate.md, on an engine that reads the file and its groups', () => {
  const stack = openStack(process.env);
  const processes = new Processes(mkdtempSync(join(stack.folder, 'migrate-')));
  const checkout = new BuiltCheckout();
  const rulesFolder = join(checkout.folder, '.data', 'acl');
  let engine: string;
  beforeAll(async () => {
    mkdirSync(rulesFolder, { recursive: true });
    copyFileSync('docs/examples/company-rules.json', join(rulesFolder, 'rules.json'));
    const names = [...new Set(USERS.flatMap(({ groups }) => groups))];
    const members = (group: string) => USERS.filter(({ groups }) => groups.includes(group)).map(({ name }) => name);
    const groups = names.map((group) => `${group}:${members(group).join(',')}\n`).join('');
    engine = await startEngine(processes, stack.parts, { mode: 'insecure', issuer: stack.issuer, rulesFolder, groups });
  });
  afterAll(async () => {
    await processes.stopAll();
    rmSync(checkout.folder, { recursive: true });
  });

  const ask = (user: string, sql: string): Promise<Answer> =>
    runStatement(engine, { mode: 'insecure', family: 'X-Query', user }, sql);
  /** What everybody gets for each statement, one after another. */
  const answers = async () => {
    const given: { user: string; sql: string; answer: Answer }[] = [];
    for (const user of [...USERS.map(({ name }) => name), STRANGER]) {
      for (const sql of STATEMENTS) given.push({ user, sql, answer: await ask(user, sql) });
    }
    return given;
  };

  it('lists what the engine has by the query of docs/import.md, over which a pattern is resolved', async () => {
    const [, query = ''] = /```sql\n(.*?)\n```/s.exec(readFileSync('docs/import.md', 'utf8')) ?? [];
    const answer = await ask('carla', query);
    if (answer.kind !== 'rows') throw new Error(JSON.stringify(answer));
    // As the engine's command line prints CSV.
    const csv = answer.rows.map((row) => `${row.map((each) => `"${String(each)}"`).join(',')}\n`).join('');
    const rules = readFileSync('docs/examples/company-rules.json', 'utf8').replace(
      '"table": "customer"',
      '"table": "cust.*"',
    );
    writeFileSync(join(checkout.folder, 'patterns.json'), rules);
    writeFileSync(join(checkout.folder, 'listing.csv'), csv);
    const files = ['patterns.json', '--users', 'docs/examples/company-users.txt', '--catalog', 'listing.csv'];
    const [printed] = await checkout.runBlocks([`node dist/main.js acl import ${files.join(' ')} --json || true\n`]);
    const { snapshot } = JSON.parse(printed ?? '') as { snapshot: { policies: { kind: string; resource: object }[] } };
    const filtered = snapshot.policies.filter(({ kind }) => kind === 'row_filter').map(({ resource }) => resource);
    expect(filtered).toContainEqual({ catalog: 'tpch', schema: 'tiny', table: 'customer' });
  });

  it('leaves everybody the answers that they had', async () => {
    const before = await answers();
    const rowsOf = (name: string) =>
      before.filter(({ user, answer }) => user === name && answer.kind === 'rows').length;
    // The file gives each of them something else.
    expect([...USERS.map(({ name }) => rowsOf(name)), rowsOf(STRANGER)]).toEqual([10, 10, 18, 18, 0, 0]);
    const customers = before
      .filter(({ sql }) => sql.includes('min(nationkey)'))
      .map(({ answer }) => JSON.stringify(answer));
    expect(new Set(customers).size).toBe(3);

    const outputs = await checkout.runBlocks(
      BLOCKS.map(({ commands }) => commands.replaceAll('npx --no -- grantline', 'node dist/main.js')),
    );
    for (const [index, { output }] of BLOCKS.entries()) {
      if (output !== null) expect(timeless(outputs[index] ?? '')).toContain(timeless(output));
    }
    expect(outputs.join('')).not.toMatch(/gained by (?!grantline:)/);

    const live = (name: string): string => readFileSync(join(rulesFolder, name), 'utf8');
    const published = live('rules.json');
    expect(published).toBe(readFileSync(join(checkout.folder, 'compiled/rules.json'), 'utf8'));
    expect(live('rules.json.bak')).toBe(readFileSync('docs/examples/company-rules.json', 'utf8'));
    await untilRulesInForce(published, (sql) => ask('grantline', sql));
    const after = await answers();
    expect(after.filter((each, i) => JSON.stringify(each) !== JSON.stringify(before[i]))).toEqual([]);
  });
});
