import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { migrate } from '../../src/platform/database/migrator.js';
import { freshDatabase, type TestDatabase } from '../support/database/database.js';

/** The migrations for which the baselines stand, each below its name. */
const BEFORE = readFileSync(join(import.meta.dirname, 'before-baselines.sql'), 'utf8')
  .split(/^-- (?=\d{4}-[a-z-]+$)/m)
  .slice(1)
  .map((part) => ({ name: part.split('\n', 1)[0] ?? '', sql: part.slice(part.indexOf('\n')) }));

const LAST_BASELINE = '0111-publications';
const AFTER_BASELINES = readdirSync('migrations')
  .map((file) => file.replace(/[.]sql$/, ''))
  .filter((name) => name > LAST_BASELINE)
  .sort();

/** Everything that was made in the schema, by its name: how it is defined, who may use it, what its comment says. */
const DEFINITIONS = `
  SELECT 'column ' || c.relname || '.' || a.attname AS name,
         concat_ws(' ', format_type(a.atttypid, a.atttypmod), CASE WHEN a.attnotnull THEN 'not null' END, a.attidentity,
           pg_get_expr(d.adbin, d.adrelid), a.attacl, col_description(c.oid, a.attnum)) AS definition
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
   WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
  UNION ALL
  SELECT 'relation ' || relname, concat_ws(' ', relkind, relacl, obj_description(oid, 'pg_class'), CASE relkind WHEN 'i' THEN pg_get_indexdef(oid) END)
    FROM pg_class WHERE relnamespace = 'public'::regnamespace
  UNION ALL
  SELECT 'constraint ' || conname, concat_ws(' ', conrelid::regclass, pg_get_constraintdef(oid))
    FROM pg_constraint WHERE connamespace = 'public'::regnamespace
  UNION ALL
  SELECT 'function ' || proname, concat_ws(' ', pg_get_functiondef(oid), proacl, obj_description(oid, 'pg_proc'))
    FROM pg_proc WHERE pronamespace = 'public'::regnamespace
  UNION ALL
  SELECT 'trigger ' || tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
  UNION ALL
  SELECT 'rows', concat_ws(' ', (SELECT count(*) FROM audit_retention), (SELECT count(*) FROM acl_retention))
  ORDER BY 1`;

describe('the baselines', () => {
  let database: TestDatabase;
  let owner: Client;
  beforeEach(async () => {
    database = await freshDatabase();
    owner = new Client(database.migrationUrl);
    await owner.connect();
  });
  afterEach(async () => {
    await owner.end();
    await database.drop();
  });
  const definitions = async (): Promise<unknown[]> =>
    (await owner.query<Record<'name' | 'definition', string>>(DEFINITIONS)).rows;
  const madeBefore = async (migrations: typeof BEFORE): Promise<void> => {
    await owner.query('DROP OWNED BY CURRENT_USER');
    await owner.query(
      'CREATE TABLE migrations (id serial CONSTRAINT "PK_8c82d7f526340ab734260ea46be" PRIMARY KEY, timestamp bigint NOT NULL, name varchar NOT NULL)',
    );
    for (const { name, sql } of migrations) {
      await owner.query(sql);
      const at = String(1_790_000_000_000 + Number(name.slice(0, 4)));
      await owner.query('INSERT INTO migrations (timestamp, name) VALUES ($1, $2)', [at, `${name}-${at}`]);
    }
  };

  it('make the schema that the migrations before them made, which is taken over as it is', async () => {
    const made = await definitions();
    await madeBefore(BEFORE);
    await owner.query(`INSERT INTO principal_names (name, holder, claimed_at) VALUES ('pipeline', 'engine', now())`);

    expect(await migrate(database.migrationUrl, database.url)).toEqual(AFTER_BASELINES);
    expect(await definitions()).toEqual(made);
    expect((await owner.query('SELECT name FROM principal_names')).rows).toEqual([{ name: 'pipeline' }]);
    expect(await migrate(database.migrationUrl, database.url)).toEqual([]);
  });

  it('are not applied to a schema that lacks one of those, which is named', async () => {
    await madeBefore(BEFORE.slice(0, -1));
    const before = await definitions();

    await expect(migrate(database.migrationUrl, database.url)).rejects.toThrow(
      `the database lacks ${BEFORE.at(-1)?.name}, for which the baselines stand: run "grantline migrate" of the last build that has it, then this one`,
    );
    expect(await definitions()).toEqual(before);
  });
});
