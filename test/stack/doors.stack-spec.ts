import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { freshDatabase, type TestDatabase } from '../support/database/database.js';
import { runGrantline } from '../support/service/grantline-process.js';
import { TEST_SECRET } from '../support/service/secrets.js';
import { ACCESS, CATALOGS, EXTERNAL, PEOPLE, RAW, READABLE, SERVICE } from './doors/access.js';
import { DOORS, KEPT, PLANS, type Question, WITHOUT_EFFECT } from './doors/questions.js';
import { MADE, SNAPSHOTS } from './doors/tables.js';
import { untilRulesInForce } from './loop/rules-in-force.js';
import { type Answer, runStatement } from './loop/statement.js';
import { startEngine } from './running/engine.js';
import { Processes } from './running/processes.js';
import { openStack } from './stack.js';

const stack = openStack(process.env);
const processes = new Processes(mkdtempSync(join(stack.folder, 'doors-')));
const rulesFolder = join(processes.folder, 'acl');
const databases: TestDatabase[] = [];
const snapshots: Record<string, string> = {};
let engine: string;

const run = (user: string, sql: string): Promise<Answer> =>
  runStatement(engine, { mode: 'insecure', family: 'X-Trino', user }, sql);

/** The rows, or name and text of the error. */
async function ask(user: string, sql: string): Promise<unknown[][] | string> {
  const found = await run(
    user,
    sql.replace(/\{(\w+)\}/, (_, name: string) => snapshots[name] ?? ''),
  );
  if (found.kind === 'rows') return found.rows;
  return found.kind === 'failed' ? `${found.errorName}: ${found.message}` : found.text;
}

async function rowsOf(user: string, sql: string): Promise<unknown[][]> {
  const answer = await ask(user, sql);
  if (typeof answer === 'string') throw new Error(`${sql}: ${answer}`);
  return answer;
}

/** Records the access by commands, and publishes it into the folder that the engine reads. */
async function publish(database: TestDatabase): Promise<void> {
  const environment = {
    NODE_ENV: 'test',
    AUTH_SECRET_KEY: TEST_SECRET,
    DATABASE_URL: database.url,
    DATABASE_MIGRATION_URL: database.migrationUrl,
    SERVICE_QUERY_USER: SERVICE,
    ACL_FILE_DIRECTORY: rulesFolder,
    ACL_WRITABLE_CATALOGS: CATALOGS.join(','),
    ACL_READABLE_CATALOGS: READABLE,
    ACL_EXTERNAL_TABLE_CATALOGS: EXTERNAL,
    ACL_RAW_COLUMN_CATALOGS: RAW,
  };
  const [people, access] = [join(processes.folder, 'people.txt'), join(processes.folder, 'access.json')];
  writeFileSync(people, PEOPLE.join('\n'));
  writeFileSync(access, JSON.stringify(ACCESS));
  for (const command of [`users import ${people}`, `snapshot apply ${access}`, 'acl sync']) {
    const { code, stdout, stderr } = await runGrantline(command.split(' '), environment);
    if (code !== 0) throw new Error(`${command}: ${stdout}${stderr}`);
  }
}

function catalogsOver(postgres: TestDatabase): Record<string, string> {
  const { host, pathname, username, password } = new URL(postgres.migrationUrl);
  const store = join(processes.folder, 'store');
  mkdirSync(store);
  const properties = (...lines: string[]) => lines.map((line) => `${line}\n`).join('');
  const files = (name: string) =>
    properties(`hive.metastore.catalog.dir=local:///${name}`, 'fs.local.enabled=true', `local.location=${store}`);
  const iceberg = (name: string) =>
    properties('connector.name=iceberg', 'iceberg.catalog.type=TESTING_FILE_METASTORE') + files(name);
  return {
    ice: iceberg('ice'),
    [READABLE]: iceberg(READABLE),
    hive: properties('connector.name=hive', 'hive.metastore=file') + files('hive'),
    memory: properties('connector.name=memory'),
    pg: properties(
      'connector.name=postgresql',
      `connection-url=jdbc:postgresql://${host}${pathname}`,
      `connection-user=${username}`,
      `connection-password=${password}`,
      'join-pushdown.enabled=true',
      'insert.non-transactional-insert.enabled=true',
    ),
  };
}

/** The questions that are answered otherwise, with what came. */
async function otherwise(questions: readonly Question[]): Promise<string[]> {
  const found: string[] = [];
  for (const { who, sql, answer } of questions) {
    const given = await ask(who, sql);
    const refused = typeof given === 'string';
    const text = refused ? given : JSON.stringify(given);
    const right =
      answer instanceof RegExp
        ? refused && answer.test(given)
        : !refused && (answer === undefined || text === JSON.stringify(answer));
    if (!right) found.push(`${who}: ${sql}: ${text.slice(0, 200)}`);
  }
  return found;
}

beforeAll(async () => {
  databases.push(await freshDatabase(), await freshDatabase());
  const [own, postgres] = databases as [TestDatabase, TestDatabase];
  await publish(own);
  const { parts, issuer } = stack;
  const catalogs = catalogsOver(postgres);
  engine = await startEngine(processes, parts, { mode: 'insecure', issuer, rulesFolder, catalogs });
  const rules = readFileSync(join(rulesFolder, 'rules.json'), 'utf8');
  await untilRulesInForce(rules, (sql) => run(SERVICE, sql));
  await Promise.all(
    Object.entries(MADE).map(async ([catalog, statements]) => {
      for (const sql of statements) await rowsOf(catalog === READABLE ? 'keeper' : SERVICE, sql);
    }),
  );
  for (const [name, sql] of Object.entries(SNAPSHOTS)) {
    // As text: it has more digits than a number of JSON is read with.
    snapshots[name] = String(await rowsOf(SERVICE, `SELECT CAST((${sql}) AS varchar)`));
  }
});
afterAll(async () => {
  await processes.stopAll();
  for (const database of databases) await database.drop();
});

describe('what is restricted, on the engine', () => {
  it('leaves all the rest as it was', async () => {
    expect(await otherwise(KEPT)).toEqual([]);
  });

  it('is not written, where a filter or mask lets nobody write', async () => {
    expect(await otherwise(WITHOUT_EFFECT)).toEqual([]);
  });

  it.each(Object.entries(PLANS))('leaves the plan: %s', async (sql, shown) => {
    // Dynamic filters are numbered as the planner counts.
    const plan = async (who: string) => String(await rowsOf(who, `EXPLAIN ${sql}`)).replaceAll(/#df_\d+/g, '#df');
    expect(await plan('reader-free')).toBe(await plan('writer-free'));
    expect(await plan('reader-free')).toMatch(shown);
  });

  it('is reached through no door', async () => {
    const open = await otherwise(DOORS);
    console.log(`${open.length} of ${DOORS.length} doors are open`);
    expect(open).toEqual([]);
  });
});
