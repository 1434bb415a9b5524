import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ApiClient, type Tokens } from '../support/service/api-client.js';
import { EmbeddedCluster, folderOfClusters } from '../support/database/embedded-cluster.js';
import { type Finished, GrantlineProcess, runGrantline } from '../support/service/grantline-process.js';
import { brokenBuild, ONE_GROUP_ALONE, type PlantedFault } from '../support/rules/planted-fault.js';

/** One fault each, in a copy of the built service; `found`: the finding to expect in the log. */
const FAULTS = {
  'drops what the other group gives': ONE_GROUP_ALONE,
  'does not escape a dot': {
    file: 'trino-rules/compile/name-pattern.js',
    from: '/[.$|?*+(){}]|',
    to: '/[$|?*+(){}]|',
    found: /a dot stands for any character/,
  },
  'leaves out a section': {
    file: 'trino-rules/compile/rules-text.js',
    from: "    functions: ['user', 'catalog', 'schema', 'function', 'privileges'],\n",
    to: '',
    found: /functions/,
  },
} satisfies Record<string, PlantedFault>;

describe('a broken compiler', () => {
  let folder: string;
  let environment: Record<string, string>;
  let service: GrantlineProcess;
  let token: string;
  let boris: number;
  /** Of the grant on a name that the second fault reads as a pattern. */
  let dotted: string;
  const rules = (): string => readFileSync(join(folder, 'acl', 'rules.json'), 'utf8');

  const sync = (build: string): Promise<Finished> =>
    new GrantlineProcess(['acl', 'sync'], environment, { folder: build }).finished;

  beforeAll(async () => {
    folder = folderOfClusters();
    new EmbeddedCluster(join(folder, 'data')).lay();
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
    const visitor = new ApiClient(await service.url());
    const password = 'correct horse battery';
    const boss = ['users', 'create-admin', '--username', 'boss', '--email', 'boss@example.org'];
    expect(await runGrantline(boss, environment, password)).toMatchObject({ code: 0 });
    const login = await visitor.post('/api/auth/login', { username: 'boss', password });
    token = (login.body as unknown as Tokens).access_token;
    const admin = visitor.as(token);
    const registered = await visitor.post('/api/auth/register', {
      username: 'boris',
      email: 'boris@example.org',
      password,
    });
    boris = Number(registered.body?.['id']);
    for (const [name, privilege] of [
      ['readers', 'SELECT'],
      ['writers', 'INSERT'],
    ] as const) {
      const group = await admin.post('/api/admin/groups', { name });
      const id = Number(group.body?.['id']);
      expect((await admin.send('PUT', `/api/admin/groups/${id}/members/${boris}`)).status).toBe(204);
      const resource = { catalog: 'sales', schema: 'eu', table: 'orders' };
      await admin.post('/api/admin/grants', { principal: { type: 'group', id }, resource, privileges: [privilege] });
    }
    const toBoris = { principal: { type: 'user', id: boris }, privileges: ['SELECT'] };
    const granted = await admin.post('/api/admin/grants', {
      ...toBoris,
      resource: { catalog: 'sales', schema: 'a.b' },
    });
    dotted = granted.headers.get('location') ?? '';
    expect(granted.status).toBe(201);
    expect((await runGrantline(['acl', 'sync'], environment)).code).toBe(0);
  });
  afterAll(async () => {
    service.signal('SIGTERM');
    await service.finished;
    rmSync(folder, { recursive: true });
  });

  it.each(Object.entries(FAULTS))(
    'that %s publishes nothing, and reports an example of the fault',
    async (_, fault) => {
      const published = rules();

      const { code, stderr } = await sync(brokenBuild(folder, fault));

      expect({ code, stderr }).toMatchObject({ code: 1 });
      expect(stderr).toContain('TRINO_ACL_SYNC_REFUSED');
      expect(stderr).toMatch(fault.found);
      expect(rules()).toBe(published);
    },
  );

  it('that would publish nothing takes no change that it cannot publish, and every revoke', async () => {
    const broken = new GrantlineProcess(['serve'], environment, {
      folder: brokenBuild(folder, FAULTS['does not escape a dot']),
    });
    try {
      const admin = new ApiClient(await broken.url()).as(token);
      const grants = '/api/admin/grants';
      const toBoris = { principal: { type: 'user', id: boris }, privileges: ['SELECT'] };

      const refused = await admin.post(grants, { ...toBoris, resource: { catalog: 'hr', schema: 'c.d' } });
      expect(refused.body).toMatchObject({ status: 409, code: 'rules_unprovable' });
      expect(refused.body?.['detail']).toMatch(FAULTS['does not escape a dot'].found);
      expect((await admin.get(`${grants}?catalog=hr`)).body).toMatchObject({ items: [] });

      const elsewhere = await admin.post(grants, { ...toBoris, resource: { catalog: 'hr', schema: 'plain' } });
      expect(elsewhere.status).toBe(201);
      expect((await admin.delete(dotted)).status).toBe(204);
    } finally {
      broken.signal('SIGTERM');
      await broken.finished;
    }
  });
});
