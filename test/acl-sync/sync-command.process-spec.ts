import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freshDatabase, type TestDatabase } from '../support/database/database.js';
import { runGrantline } from '../support/service/grantline-process.js';
import { TEST_SECRET } from '../support/service/secrets.js';

describe('acl sync', () => {
  let folder: string;
  let database: TestDatabase;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'acl-sync-command-'));
    database = await freshDatabase();
  });
  afterEach(async () => {
    await database.drop();
    await rm(folder, { recursive: true });
  });

  const sync = (...options: string[]) =>
    runGrantline(['acl', 'sync', ...options], {
      NODE_ENV: 'test',
      AUTH_SECRET_KEY: TEST_SECRET,
      DATABASE_URL: database.url,
      DATABASE_MIGRATION_URL: database.migrationUrl,
      ACL_FILE_DIRECTORY: join(folder, 'acl'),
    });

  it('shows, publishes, and finds nothing left to do', async () => {
    const preview = await sync('--dry-run');
    expect(preview).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^the next run would publish: \d+ rules/) as string,
    });
    await expect(readFile(join(folder, 'acl', 'rules.json'))).rejects.toThrow('ENOENT');

    const applied = await sync();
    expect(applied).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^TRINO_ACL_SYNC_APPLIED {2}version 1 /) as string,
    });

    const { code, stdout } = await sync('--json');
    const bytes = (await readFile(join(folder, 'acl', 'rules.json'))).length;
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      outcome: 'no_change',
      publication: { version: 1, bytes },
      reasons: [],
    });
  });

  it('ends with 2 when the target is in the way', async () => {
    await writeFile(join(folder, 'acl'), 'a file where the folder should be');
    expect(await sync()).toMatchObject({
      code: 2,
      stdout: expect.stringContaining('TRINO_ACL_SYNC_FAILED  unreachable') as string,
    });
    expect(await sync('--dry-run')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('unreachable') as string,
    });
  });
});
