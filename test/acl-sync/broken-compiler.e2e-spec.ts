import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { ApiClient, type Tokens } from '../support/api-client.js';
import { type Finished, GrantlineProcess, runGrantline } from '../support/grantline-process.js';
import { plant, type PlantedFault } from '../support/planted-fault.js';

/** One fault each, in a copy of the built service; `found` is what the log must say of it. */
const FAULTS: Record<string, PlantedFault> = {
  'drops what the other group gives': {
    file: 'acl-sync/compiler/access-state.js',
    from: 'given | withContained(statement.privileges)',
    to: 'withContained(statement.privileges)',
    found: /boris may SELECT .*?sales\.eu\.orders.*?group/,
  },
  'does not escape a dot': {
    file: 'acl-sync/compiler/name-pattern.js',
    from: '/[.$|?*+(){}]|',
    to: '/[$|?*+(){}]|',
    found: /a dot stands for any character/,
  },
  'leaves out a section': {
    file: 'acl-sync/compiler/rules-text.js',
    from: "    functions: ['user', 'catalog', 'schema', 'function', 'privileges'],\n",
    to: '',
    found: /functions/,
  },
};

describe('a broken compiler', () => {
  let folder: string;
  let environment: Record<string, string>;
  let service: GrantlineProcess;
  const rules = (): string => readFileSync(join(folder, 'acl', 'rules.json'), 'utf8');

  const brokenBuild = (fault: PlantedFault): string => {
    const copy = mkdtempSync(join(folder, 'broken-'));
    for (const name of ['dist', 'migrations', 'package.json']) cpSync(name, join(copy, name), { recursive: true });
    symlinkSync(resolve('node_modules'), join(copy, 'node_modules'));
    plant(join(copy, 'dist'), fault);
    return copy;
  };
  const sync = (build: string): Promise<Finished> =>
    new GrantlineProcess(['acl', 'sync'], environment, { folder: build }).finished;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'grantline-broken-'));
    mkdirSync(join(folder, 'acl'));
    environment = {
      DATA_DIR: join(folder, 'data'),
      ACL_FILE_DIRECTORY: join(folder, 'acl'),
      PORT: '0',
      OPERATIONS_PORT: '0',
      ACL_SYNC_ENABLED: 'false',
      AUTH_BCRYPT_COST: '4',
    };
    service = new GrantlineProcess(['serve'], environment);
    const nobody = new ApiClient(await service.url());
    const password = 'correct horse battery';
    const boss = ['users', 'create-admin', '--username', 'boss', '--email', 'boss@example.org'];
    expect(await runGrantline(boss, environment, password)).toMatchObject({ code: 0 });
    const login = await nobody.post('/api/auth/login', { username: 'boss', password });
    const admin = nobody.as((login.body as unknown as Tokens).access_token);
    const bo = await nobody.post('/api/auth/register', { username: 'boris', email: 'boris@example.org', password });
    for (const [name, privilege] of [
      ['readers', 'SELECT'],
      ['writers', 'INSERT'],
    ] as const) {
      const group = await admin.post('/api/admin/groups', { name });
      const id = Number(group.body?.['id']);
      expect((await admin.send('PUT', `/api/admin/groups/${id}/members/${String(bo.body?.['id'])}`)).status).toBe(204);
      const resource = { catalog: 'sales', schema: 'eu', table: 'orders' };
      await admin.post('/api/admin/grants', { principal: { type: 'group', id }, resource, privileges: [privilege] });
    }
    const dotted = { principal: { type: 'user', id: bo.body?.['id'] }, resource: { catalog: 'sales', schema: 'a.b' } };
    expect((await admin.post('/api/admin/grants', { ...dotted, privileges: ['SELECT'] })).status).toBe(201);
    expect((await runGrantline(['acl', 'sync'], environment)).code).toBe(0);
  });
  afterAll(async () => {
    service.signal('SIGTERM');
    await service.finished;
    rmSync(folder, { recursive: true });
  });

  it.each(Object.entries(FAULTS))('that %s publishes nothing, and says by example what is wrong', async (_, fault) => {
    const published = rules();

    const { code, stderr } = await sync(brokenBuild(fault));

    expect({ code, stderr }).toMatchObject({ code: 1 });
    expect(stderr).toContain('TRINO_ACL_SYNC_REFUSED');
    expect(stderr).toMatch(fault.found);
    expect(rules()).toBe(published);
  });
});
