import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DataSource } from 'typeorm';
import { administrator, people } from '../support/service/administrator.js';
import type { ApiClient } from '../support/service/api-client.js';
import { runGrantline } from '../support/service/grantline-process.js';
import { TEST_SECRET } from '../support/service/secrets.js';
import { startService, type TestService } from '../support/service/service.js';
import { sharedFolder } from '../support/service/shared-folder.js';

/** As many as an unexplained change needs to be worth a refusal. */
const TABLES = 60;

describe('at the command line, as by the API', () => {
  const folder = sharedFolder('decision-commands-');
  let service: TestService;
  let admin: ApiClient;
  let ana: number;
  beforeAll(async () => {
    service = await startService(environment());
    admin = await administrator(service);
    ({ ana } = await people(service, 'ana'));
  });
  afterAll(async () => {
    await service.stop();
  });

  const environment = () => ({
    NODE_ENV: 'test',
    AUTH_SECRET_KEY: TEST_SECRET,
    ACL_FILE_DIRECTORY: folder,
    SERVICE_QUERY_USER: 'service-account-grantline',
  });
  const acl = (...args: string[]) =>
    runGrantline(['acl', ...args], {
      ...environment(),
      DATABASE_URL: service.database.url,
      DATABASE_MIGRATION_URL: service.database.migrationUrl,
    });
  const rules = () => readFile(join(folder, 'rules.json'), 'utf8');
  const sync = async () => (await admin.post('/api/admin/acl/sync')).body;
  const grant = (tables: readonly string[]) =>
    admin.post('/api/admin/grants/batch', {
      grant: tables.map((table) => ({
        principal: { type: 'user', id: ana },
        resource: { catalog: 'sales', schema: 'eu', table },
        privileges: ['SELECT'],
      })),
      revoke: [],
    });
  /** The newest first; by whom, and from where: null for commands. */
  const audited = async (event: string) => {
    const { body } = await admin.get(`/api/admin/audit?event=${event}`);
    return (body?.['items'] as { actor: unknown; details: unknown }[]).map(({ actor, details }) => ({
      actor,
      details,
    }));
  };

  it('an older version is restored for some hours, and that is ended', async () => {
    await grant(Array.from({ length: TABLES }, (_, at) => `t${at}`));
    expect(await sync()).toMatchObject({ outcome: 'applied' });
    await grant(['later']);
    expect(await sync()).toMatchObject({ outcome: 'applied' });
    const status = await acl('status');
    expect(status.stdout).toMatch(/^version 2 .*\nversion 1 /m);

    const restored = await acl('restore', '1', '--reason', 'the new filter hides too much', '--hours', '2', '--json');
    expect(JSON.parse(restored.stdout)).toMatchObject({ outcome: 'applied', publication: { version: 3 } });
    expect(restored.code).toBe(0);
    expect(await rules()).not.toContain('later');
    const during = await acl('status');
    expect(during.stdout).toMatch(/^restored until +20\d\d-/m);
    expect(during.stdout).toMatch(/^version 3 .*restored version 1$/m);

    expect(await acl('restore', '--end')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^TRINO_ACL_SYNC_APPLIED {2}version 4 /) as string,
    });
    expect(await rules()).toContain('later');
    expect(await acl('restore', '--end')).toMatchObject({ code: 0, stdout: 'no version is restored\n' });
    const begun = { publication: 3, reason: 'the new filter hides too much', until: expect.any(String) as string };
    expect(await audited('publication_restored')).toEqual([{ actor: null, details: begun }]);
    expect(await audited('restore_ended')).toEqual([{ actor: null, details: { publication: 3, how: 'hand' } }]);
  });

  it.each([
    [['9', '--reason', 'why'], 1, 'version 9 was never published; acl status lists the newest'],
    [
      ['one', '--hours', '25'],
      2,
      'version must be a positive integer\n--reason must not be empty\n--hours must be at most 24',
    ],
    [
      ['0x1', '--reason', 'why', '--hours', '1e1'],
      2,
      'version must be a positive integer\n--hours must be a whole number',
    ],
    [['1', '--end'], 2, 'usage: grantline acl restore VERSION --reason TEXT'],
  ])('a restore of %j is refused with %i', async (args, code, message) => {
    expect(await acl('restore', ...args)).toMatchObject({ code, stderr: expect.stringContaining(message) as string });
  });

  it('a change that waits is approved, and published at once', async () => {
    await service.app.get(DataSource).query(`DELETE FROM grants WHERE table_name LIKE 't%'`);
    const refused = JSON.parse((await acl('sync', '--json')).stdout) as { awaits: string };

    expect(await acl('approve', 'a'.repeat(64))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`Another change waits for an approval: ${refused.awaits}.`) as string,
    });
    expect(await acl('approve', refused.awaits)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^TRINO_ACL_SYNC_APPLIED/) as string,
    });
    expect(await rules()).not.toContain('"t1"');
    expect(await audited('publication_approved')).toEqual([{ actor: null, details: { hash: refused.awaits } }]);
    const again = await acl('approve', refused.awaits);
    expect(again.code).toBe(1);
    expect(again.stderr).toMatch(/\nNo change waits for an approval\.\n$/);
  });
});
