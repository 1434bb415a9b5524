import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freshDatabase, type TestDatabase } from '../support/database.js';
import { runGrantline } from '../support/grantline-process.js';
import { TEST_SECRET } from '../support/secrets.js';

describe('on the command line', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'acl-commands-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  describe('acl sync', () => {
    let database: TestDatabase;
    beforeEach(async () => {
      database = await freshDatabase();
    });
    afterEach(() => database.drop());

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

  describe('acl compile', () => {
    const compile = async (snapshot: string, ...options: string[]) => {
      const file = join(folder, 'snapshot');
      await writeFile(file, snapshot);
      const all = ['acl', 'compile', '--snapshot', file, '--out', join(folder, 'out'), ...options];
      return runGrantline(all, { ACL_WARN_TABLE_RULES: '2' });
    };
    const alice = `
version: 1
users: [{id: 1, name: alice}]
grants: [{principal: {type: user, name: alice}, resource: {catalog: sales}, privileges: [SELECT]}]
settings: {own_account: service-account-grantline}
`;

    it('makes rules out of a snapshot file, and says how large and how fast', async () => {
      const { code, stdout } = await compile(alice, '--json');

      const text = await readFile(join(folder, 'out', 'rules.json'), 'utf8');
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({
        file: join(folder, 'out', 'rules.json'),
        bytes: Buffer.byteLength(text),
        hash: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
        findings: [{ code: 'many-table-rules', severity: 'warning' }],
      });
      expect(text).toContain('{"user":"alice","catalog":"sales","privileges":["SELECT"]}');
      expect((await compile(alice)).stdout).toMatch(/rules[.]json: \d+ rules, \d+ bytes, compiled in \d+ ms/);
      expect(await readFile(join(folder, 'out', 'rules.json'), 'utf8')).toBe(text);
    });

    it('says how far it is with many grants, beside the answer', async () => {
      const grants = Array.from({ length: 2_001 }, (_, i) => ({
        principal: { type: 'user', id: 1 },
        resource: { catalog: 'sales', schema: 'eu', table: `t${i}` },
        privileges: ['SELECT'],
      }));
      const snapshot = { version: 1, users: [{ id: 1, name: 'ana' }], grants };

      const { stdout, stderr } = await compile(JSON.stringify(snapshot), '--json');

      expect(JSON.parse(stdout)).toMatchObject({ findings: [{ code: 'many-table-rules' }] });
      expect(stderr).toMatch(/^compiling 2001 grants and 0 policies\nchecking \d+ table rules\n$/);
    });

    it('lists every problem of a file that is no snapshot, and ends with 2', async () => {
      const { code, stdout, stderr } = await compile('{version: 2, users: [{id: 1}]}');
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toContain('version must be 1');
      expect(stderr).toContain('users[0].name');
      expect((await compile('version: [')).code).toBe(2);
      expect(
        (await runGrantline(['acl', 'compile', '--snapshot', join(folder, 'none'), '--out', folder], {})).code,
      ).toBe(2);
      expect((await runGrantline(['acl', 'compile'], {})).code).toBe(2);
    });
  });
});
