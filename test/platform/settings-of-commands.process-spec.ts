import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freshDatabase, type TestDatabase } from '../support/database/database.js';
import { remarks, runGrantline } from '../support/service/grantline-process.js';
import { sharedFolder } from '../support/service/shared-folder.js';

const PRODUCTION = { NODE_ENV: 'production' };

describe('in production each command needs its own settings alone', () => {
  let database: TestDatabase;
  const folder = sharedFolder('grantline-settings-');
  beforeAll(async () => {
    database = await freshDatabase();
  });
  afterAll(async () => {
    await database.drop();
  });

  /** The names that the command complains of, in the order of its list. */
  const missing = async (args: readonly string[], environment: Record<string, string>): Promise<string[]> => {
    const { code, stderr, stdout } = await runGrantline(args, { ...PRODUCTION, ...environment });
    expect({ code, stdout }).toEqual({ code: 78, stdout: '' });
    return Array.from(stderr.matchAll(/^ {2}([A-Z_]+) /gm), ([, name = '']) => name);
  };
  /** Settings of other commands, each broken. */
  const BROKEN_ELSEWHERE = {
    PORT: 'x',
    AUTH_SECRET_KEY: 'weak',
    AUTH_ACCESS_TOKEN_TTL_MIN: '0',
    QUERY_MAX_SECONDS: '-1',
    SERVICE_QUERY_JWT_CLIENT_SECRET_FILE: '/nowhere',
    SERVICE_QUERY_HEADER_PREFIX: 'X-Other',
  };

  describe('migrate', () => {
    it('the database', async () => {
      const settings = { DATABASE_URL: database.url, DATABASE_MIGRATION_URL: database.migrationUrl };
      const others = { ...BROKEN_ELSEWHERE, AUTH_BCRYPT_COST: '4', ACL_TARGET: 'configmap' };

      expect(await runGrantline(['migrate'], { ...PRODUCTION, ...settings, ...others })).toEqual({
        code: 0,
        stdout: 'nothing to migrate\n',
        stderr: remarks(),
      });
      expect(await missing(['migrate'], others)).toEqual(['DATABASE_URL']);
    });
  });

  describe('users create-admin', () => {
    const createAdmin = ['users', 'create-admin', '--username', 'boss', '--email', 'boss@example.org'];

    it('the database and the cost of hashing', async () => {
      const settings = { DATABASE_URL: database.url, AUTH_BCRYPT_COST: '10' };
      const others = { ...BROKEN_ELSEWHERE, ACL_TARGET: 'configmap' };

      const made = await runGrantline(
        createAdmin,
        { ...PRODUCTION, ...settings, ...others },
        'the password of the boss',
      );
      expect(made).toEqual({
        code: 0,
        stdout: expect.stringMatching(/^administrator boss has the id/) as string,
        stderr: remarks(),
      });
      expect(await missing(createAdmin, { ...others, AUTH_BCRYPT_COST: '4' })).toEqual([
        'DATABASE_URL',
        'AUTH_BCRYPT_COST',
      ]);
    });

    it('claims no name for a service account that other settings would give', async () => {
      const called = createAdmin.map((word) => word.replace('boss', 'grantline'));
      const made = await runGrantline(called, { ...PRODUCTION, DATABASE_URL: database.url }, 'the password of all');
      expect(made).toMatchObject({ code: 0, stderr: remarks() });
    });
  });

  describe('acl sync', () => {
    const target = (): Record<string, string> => ({ ACL_FILE_DIRECTORY: join(folder, 'acl') });
    const named = { SERVICE_QUERY_USER: 'service-account-data' };

    it('the database, the access settings and the target', async () => {
      const settings = { DATABASE_URL: database.url, ...target(), ...named };
      const others = {
        ...BROKEN_ELSEWHERE,
        AUTH_BCRYPT_COST: '4',
        SERVICE_QUERY_HOST: 'no host',
        SERVICE_QUERY_JWT_ENABLED: 'true',
      };

      const ran = await runGrantline(['acl', 'sync'], { ...PRODUCTION, ...settings, ...others });
      expect(ran).toEqual({
        code: 0,
        stdout: expect.stringMatching(/^TRINO_ACL_SYNC_APPLIED/) as string,
        stderr: remarks(),
      });
    });

    it.each([
      [{}, ['DATABASE_URL']],
      [
        { ACL_TARGET: 'configmap', ...named },
        ['DATABASE_URL', 'ACL_CONFIGMAP_NAMESPACE', 'ACL_CONFIGMAP_NAME', 'KUBERNETES_API_URL', 'ACL_METADATA_CATALOG'],
      ],
      [{ SERVICE_QUERY_JWT_ENABLED: 'true' }, ['SERVICE_QUERY_JWT_CLIENT_ID', 'DATABASE_URL']],
      [{ ACL_WARN_TABLE_RULES: 'many' }, ['DATABASE_URL', 'ACL_WARN_TABLE_RULES']],
    ])('with %j it complains of %j', async (environment, names) => {
      expect(await missing(['acl', 'sync'], environment)).toEqual(names);
    });
  });

  describe('acl compile', () => {
    it('none', async () => {
      const snapshot = join(folder, 'snapshot.json');
      writeFileSync(snapshot, '{"version": 1}');
      const compile = ['acl', 'compile', '--snapshot', snapshot, '--out', join(folder, 'out')];
      const others = { ...BROKEN_ELSEWHERE, ACL_TARGET: 'configmap', ACL_SYNC_CRON: 'x' };

      expect(await runGrantline(compile, { ...PRODUCTION, ...others })).toMatchObject({ code: 0, stderr: '' });
      expect(await missing(compile, { ACL_READABLE_CATALOGS: 'a\u202e' })).toEqual(['ACL_READABLE_CATALOGS']);
    });
  });

  describe('verify-retired-route', () => {
    it('none', async () => {
      const asked = await runGrantline(['verify-retired-route', 'http://127.0.0.1:1'], {
        ...PRODUCTION,
        ...BROKEN_ELSEWHERE,
      });
      expect(asked).toMatchObject({ code: 2, stdout: expect.stringContaining('nothing is proved') as string });
    });
  });
});
