import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { asSuperuser, freshDatabase, type TestDatabase } from '../support/database/database.js';
import { type Finished, runGrantline } from '../support/service/grantline-process.js';
import { TEST_SECRET } from '../support/service/secrets.js';
import { sharedFolder } from '../support/service/shared-folder.js';

const NEED_RECORDED = [
  ['acl', 'status'],
  ['acl', 'sync'],
  ['acl', 'explain', '--user', 'ana', '--catalog', 'sales', '--privilege', 'SELECT'],
  ['users', 'import', 'package.json'],
  ['snapshot', 'export'],
  ['snapshot', 'apply', 'package.json'],
];

describe('a command that needs what is recorded', () => {
  const folder = sharedFolder('which-database-');
  let database: TestDatabase;
  beforeAll(async () => {
    database = await freshDatabase();
  });
  afterAll(async () => {
    await database.drop();
  });

  const run = async (commands: string[][], environment: Record<string, string>): Promise<Finished[]> => {
    const finished: Finished[] = [];
    for (const args of commands)
      finished.push(await runGrantline(args, { ACL_FILE_DIRECTORY: join(folder, 'acl'), ...environment }));
    return finished;
  };

  it('makes no database in a folder that has none', async () => {
    const finished = await run(NEED_RECORDED, { DATA_DIR: join(folder, 'elsewhere') });

    for (const { code, stdout, stderr } of finished) {
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toContain(`there is no database in ${join(folder, 'elsewhere')}`);
    }
    expect(existsSync(join(folder, 'elsewhere'))).toBe(false);
  });

  it('adds nothing to a database without its tables, or with those of an earlier version', async () => {
    const owner = new Client(database.migrationUrl);
    await owner.connect();
    try {
      await owner.query(`DELETE FROM migrations WHERE id = (SELECT max(id) FROM migrations)`);
      const urls = { DATABASE_URL: database.url, DATABASE_MIGRATION_URL: database.migrationUrl };
      const [status] = await run([['acl', 'status']], urls);
      expect(status).toMatchObject({ code: 2, stdout: '' });
      expect(status?.stderr).toContain('lacks 1 migrations of this version: run "grantline migrate"');
      await owner.query('DROP TABLE migrations');
      const finished = await run(NEED_RECORDED.slice(-2), urls);
      for (const { code, stderr } of finished) {
        expect(code).toBe(2);
        expect(stderr).toContain('is no database of Grantline');
      }
      const { rows } = await owner.query(`SELECT to_regclass('migrations') AS made`);
      expect(rows).toEqual([{ made: null }]);
    } finally {
      await owner.end();
    }
    expect(existsSync(join(folder, 'acl'))).toBe(false);
  });

  it('is as plain as the service is about a database that was never migrated', async () => {
    const name = new URL(database.url).pathname.slice(1);
    await asSuperuser(`CREATE DATABASE ${name}_empty TEMPLATE template0`);
    const url = database.url.replace(name, `${name}_empty`);
    const production = {
      NODE_ENV: 'production',
      DATABASE_URL: url,
      AUTH_SECRET_KEY: TEST_SECRET,
      ACL_SYNC_ENABLED: 'false',
    };
    try {
      const sentence = 'is no database of Grantline: correct DATABASE_URL, or make its tables with "grantline migrate"';
      for (const finished of await run([['acl', 'status'], ['serve']], production)) {
        expect(finished.code).toBe(2);
        expect(finished.stderr).toContain(sentence);
      }
    } finally {
      await asSuperuser(`DROP DATABASE ${name}_empty WITH (FORCE)`);
    }
  });
});
