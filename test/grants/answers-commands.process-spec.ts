import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { compile } from '../../src/trino-rules/compile/compile.js';
import { administrator, people } from '../support/service/administrator.js';
import { runGrantline } from '../support/service/grantline-process.js';
import { TEST_SECRET } from '../support/service/secrets.js';
import { sharedService } from '../support/service/service.js';
import { aSnapshot } from '../support/snapshots/snapshot-builder.js';
import { sharedFolder } from '../support/service/shared-folder.js';

describe('answers at the command line', () => {
  const folder = sharedFolder('acl-answers-');
  const service = sharedService({
    ACL_FILE_DIRECTORY: join(folder, 'acl'),
    SERVICE_QUERY_USER: 'service-account-grantline',
  });
  let grant: number;
  let bob: number;
  const run = (...args: string[]) =>
    runGrantline(['acl', ...args], {
      NODE_ENV: 'test',
      AUTH_SECRET_KEY: TEST_SECRET,
      DATABASE_URL: service.database.url,
      DATABASE_MIGRATION_URL: service.database.migrationUrl,
      ACL_FILE_DIRECTORY: join(folder, 'acl'),
      SERVICE_QUERY_USER: 'service-account-grantline',
    });
  const ORDERS = ['--catalog', 'sales', '--schema', 'eu', '--table', 'orders'];

  beforeAll(async () => {
    const admin = await administrator(service);
    ({ bob } = await people(service, 'bob'));
    const given = await admin.post('/api/admin/grants', {
      principal: { type: 'user', id: bob },
      resource: { catalog: 'sales', schema: 'eu' },
      privileges: ['SELECT', 'INSERT'],
    });
    grant = Number(given.body?.['id']);
    await admin.post('/api/admin/acl/sync', {});
  });

  it('acl explain: by the database and the published rules', async () => {
    const { code, stdout } = await run('explain', '--user', 'Bob', ...ORDERS, '--privilege', 'select');
    expect(code).toBe(0);
    expect(stdout).toContain('Bob may SELECT from sales.eu.orders');
    expect(stdout).toMatch(/rule +tables\[\d+\] {2}\{.*"user":"bob"/);
    expect(stdout).toContain(`grants            ${grant}`);
    expect(stdout).toContain('version 1 allows it');
  });

  it('acl explain: about everything, without a catalog', async () => {
    const { code, stdout } = await run('explain', '--user', 'bob', '--privilege', 'SELECT');
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^bob may not SELECT from everything\n[^]*"resource":\{\}/) as string,
    });
  });

  it('acl explain --json: as the route', async () => {
    const { code, stdout } = await run('explain', '--user', 'bob', ...ORDERS, '--privilege', 'DELETE', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      allowed: false,
      grants: [],
      smallest_change: {
        steps: [{ kind: 'grant', principal: { type: 'user', id: bob, name: 'bob' }, privileges: ['DELETE'] }],
      },
    });
  });

  it('acl explain --rules: by one file', async () => {
    const file = join(folder, 'rules.json');
    await writeFile(file, compile(aSnapshot().user('ana').may('SELECT', 'sales').snapshot()).text);
    const of = (user: string) => run('explain', '--user', user, ...ORDERS, '--privilege', 'SELECT', '--rules', file);
    expect(await of('ana')).toMatchObject({ code: 0, stdout: expect.stringContaining('ana may SELECT') as string });
    expect(await of('bo')).toMatchObject({ code: 0, stdout: expect.stringContaining('bo may not SELECT') as string });
  });

  it.each([
    [['--user', 'bob', '--catalog', 'Sales', '--privilege', 'SELECT'], '--catalog'],
    [['--user', 'bob', '--catalog', 'sales', '--privilege', 'READ'], '--privilege'],
    [['--user', 'bob', '--catalog', 'sales', '--table', 't', '--privilege', 'SELECT'], '--table needs a --schema'],
    [['--user', 'bob', '--catalog', 'sales', '--privilege', 'SELECT', '--rules', '/nonexistent'], 'ENOENT'],
  ])('acl explain %j ends with 2', async (args, message) => {
    expect(await run('explain', ...args)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(message) as string,
    });
  });

  it('acl status: as the route', async () => {
    const { code, stdout } = await run('status', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      last_outcome: 'applied',
      published: { version: 1 },
      next_run_at: null,
      drift: null,
    });
  });
});
