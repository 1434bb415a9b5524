import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DataSource } from 'typeorm';
import { NODE_KINDS } from '../../src/trino-rules/model/node.js';
import { PRIVILEGE_TERMS, PRIVILEGES } from '../../src/trino-rules/model/privilege.js';
import { sharedService } from '../support/service/service.js';

/** SQL that names a column too many fails in the stores' own specs; here a column too few is found. */
const SOURCE = join(import.meta.dirname, '../../src');
const STORES = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })
  .filter((file) => /((infrastructure|platform.database).*[.]ts|[.]store[.]ts)$/.test(file))
  .map((file) => readFileSync(join(SOURCE, file), 'utf8'));
const names = (text: string, word: string): boolean => new RegExp(`\\b${word}\\b`).test(text);

describe('the schema', () => {
  const service = sharedService();

  it('has no table and no column that the code does not use', async () => {
    const columns = await service.app.get(DataSource).query<{ table: string; column: string }[]>(
      `SELECT table_name AS table, column_name AS column FROM information_schema.columns
       WHERE table_schema = 'public' AND table_name <> 'migrations'
         AND column_name <> 'only_row'`, // the key that holds a table to one row
    );
    const unused = columns.filter(
      ({ table, column }) => !STORES.some((text) => names(text, table) && names(text, column)),
    );

    expect(columns).not.toEqual([]);
    expect(unused).toEqual([]);
  });

  it('takes on every kind of node what the model opens there', async () => {
    const source = service.app.get(DataSource);
    for (const kind of NODE_KINDS) {
      const [row] = await source.query<{ privileges: string[] }[]>('SELECT privileges_on($1) AS privileges', [kind]);
      const open = PRIVILEGES.filter((privilege) => PRIVILEGE_TERMS[privilege].nodeKinds.includes(kind));
      expect(row?.privileges).toEqual(expect.arrayContaining(open));
    }
  });

  it('has a comment on every table', async () => {
    const source = service.app.get(DataSource);
    const tables = await source.query<{ name: string }[]>(
      `SELECT c.relname AS name FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
       AND obj_description(c.oid) IS NULL AND c.relname <> 'migrations'`,
    );

    expect(tables).toEqual([]);
  });
});
