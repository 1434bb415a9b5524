import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Client } from 'pg';
import { parse } from 'yaml';
import { GrantPortsModule } from '../../src/acl-sync/grant-ports.module.js';
import { PublishingModule } from '../../src/acl-sync/publishing.module.js';
import { planLine } from '../../src/grants/domain/snapshot-plan.js';
import { SnapshotFilesModule } from '../../src/grants/snapshot-files.module.js';
import { type Applied, SnapshotFilesService } from '../../src/grants/snapshot-files.service.js';
import { createPino, PinoLog } from '../../src/platform/infrastructure/pino-log.js';
import { PlatformModule } from '../../src/platform/platform.module.js';
import { parseSettings } from '../../src/platform/settings-parser.js';
import { administrator, people } from '../support/administrator.js';
import type { ApiClient } from '../support/api-client.js';
import { runGrantline } from '../support/grantline-process.js';
import { TEST_SECRET } from '../support/secrets.js';
import { startService, type TestService } from '../support/service.js';

const RULES = {
  ACL_METADATA_CATALOG: 'grantline',
  ACL_WRITABLE_CATALOGS: 'lake',
  SERVICE_QUERY_USER: 'service-account-grantline',
};
const ORDERS = { catalog: 'sales', schema: 'eu', table: 'orders' };
const readers = { type: 'group', name: 'readers' };

@Module({})
class Commands {}

/** In the order of an export. */
const FILE = {
  version: 1,
  users: [{ name: 'alice' }, { name: 'bob' }, { name: 'cyn', is_active: false }],
  groups: [
    { name: 'auditors', members: ['cyn'] },
    { name: 'readers', members: ['alice', 'bob'], description: 'read for the "reports"' },
  ],
  grants: [
    {
      resource: { catalog: 'sales' },
      principal: { type: 'engine', name: 'etl-job' },
      privileges: ['SELECT'],
      description: 'nightly',
    },
    {
      resource: { catalog: 'sales', schema: 'eu' },
      principal: readers,
      privileges: ['SELECT', 'INSERT'],
      expires_at: '2099-12-01T00:00:00.000Z',
    },
  ],
  policies: [
    {
      resource: { ...ORDERS },
      kind: 'row_filter',
      principal: { type: 'everyone' },
      except: [{ type: 'group', name: 'auditors' }],
      expression: "region = 'EU'",
      description: 'law',
    },
    { resource: { ...ORDERS, column: 'card' }, kind: 'column_mask', principal: readers, expression: "'*'" },
    { resource: { ...ORDERS, column: 'ssn' }, kind: 'hidden_column', principal: readers },
    { resource: { catalog: 'sales', schema: 'hr' }, kind: 'deny', principal: readers, privileges: ['SELECT'] },
  ],
};

const problemsOf = (applied: Applied) => (applied.kind === 'refused' ? applied.problems : []);

describe('snapshot files', () => {
  let service: TestService;
  let admin: ApiClient;
  let folder: string;
  let modules: INestApplicationContext;
  let ids: Record<'alice' | 'bob' | 'cyn', number>;

  beforeAll(async () => {
    service = await startService(RULES);
    admin = await administrator(service);
    ids = await people(service, 'alice', 'bob', 'cyn');
    await admin.send('PATCH', `/api/admin/users/${ids.cyn}`, { is_active: false });
    folder = await mkdtemp(join(tmpdir(), 'snapshot-files-'));
    const { settings } = parseSettings({
      ...{ NODE_ENV: 'test', DATABASE_URL: service.database.url, ACL_FILE_DIRECTORY: join(folder, 'acl'), ...RULES },
    });
    const log = new PinoLog(createPino(settings.log, { write: () => undefined }));
    const platform = PlatformModule.with({ settings, database: service.database, log });
    const ports = GrantPortsModule.with(PublishingModule.with(settings));
    const root = { module: Commands, imports: [platform, ports, SnapshotFilesModule] };
    modules = await NestFactory.createApplicationContext(root, { logger: false });
  });
  beforeEach(() => planned({ version: 1 }, { prune: true }));
  afterAll(async () => {
    await modules.close();
    await service.stop();
    await rm(folder, { recursive: true });
  });

  const run = (...args: string[]) =>
    runGrantline(['snapshot', ...args], {
      NODE_ENV: 'test',
      AUTH_SECRET_KEY: TEST_SECRET,
      DATABASE_URL: service.database.url,
      DATABASE_MIGRATION_URL: service.database.migrationUrl,
      ACL_FILE_DIRECTORY: join(folder, 'acl'),
      ...RULES,
    });
  const command = async (file: unknown, ...options: string[]) => {
    const path = join(folder, 'access');
    await writeFile(path, typeof file === 'string' ? file : JSON.stringify(file));
    return run('apply', path, ...options);
  };
  /** What the commands call, without a process for each of them. */
  const exported = () => modules.get(SnapshotFilesService).export();
  const planned = (file: unknown, { dryRun = false, prune = false } = {}) =>
    modules.get(SnapshotFilesService).apply(file, { dryRun, prune }, { actor: null, origin: null });
  const apply = async (file: unknown, options: { dryRun?: boolean; prune?: boolean } = {}) => {
    const applied = await planned(file, options);
    if (applied.kind === 'refused') throw new Error(JSON.stringify(applied.problems));
    return applied.plan.map(planLine);
  };

  it('are exported as they were applied, and applied again they change nothing', async () => {
    const plan = await command(FILE, '--dry-run', '--json');
    expect(plan.code).toBe(1);
    const { outcome, plan: steps } = JSON.parse(plan.stdout) as { outcome: string; plan: unknown[] };
    expect(outcome).toBe('planned');
    expect((await exported()).grants).toEqual([]);

    const applied = await command(FILE);
    expect(applied.code).toBe(0);
    expect(applied.stdout.split('\n')).toEqual(
      expect.arrayContaining([
        '+ group readers # "read for the \\"reports\\""',
        '+ member alice of readers',
        '+ grant SELECT, INSERT on sales.eu to group readers until 2099-12-01T00:00:00.000Z',
        `+ policy row_filter on sales.eu.orders for everyone except group auditors: region = 'EU' # "law"`,
        `applied: ${steps.length} changes`,
      ]) as unknown,
    );

    expect(await exported()).toEqual(FILE);
    const yaml = (await run('export', '--format', 'yaml')).stdout;
    expect(parse(yaml)).toEqual(FILE);
    expect(await command(yaml, '--prune')).toMatchObject({ code: 0, stdout: 'no change\n' });
    expect(await planned(FILE, { dryRun: true, prune: true })).toMatchObject({ kind: 'no_change', plan: [] });
  });

  it('are audited as the same changes by the API', async () => {
    const trail = async () => {
      const { body } = await admin.get('/api/admin/audit?limit=200');
      return body?.['items'] as { id: number; event: string; actor: unknown }[];
    };
    const [last] = await trail();
    await apply(FILE);
    await apply({ ...FILE, groups: [FILE.groups[0]], grants: [], policies: [] }, { prune: true });
    const events = (await trail()).filter(({ id }) => id > (last?.id ?? 0));
    const counted = Object.fromEntries(
      [...new Set(events.map(({ event }) => event))].map((name) => [
        name,
        events.filter(({ event }) => event === name).length,
      ]),
    );
    expect(counted).toEqual({
      group_created: 2,
      member_added: 3,
      grant_created: 2,
      policy_created: 4,
      snapshot_applied: 2,
      grant_revoked: 2,
      policy_deleted: 4,
      group_deleted: 1,
    });
    expect(new Set(events.map(({ actor }) => actor))).toEqual(new Set([null]));
  });

  it('write thousands of grants in chunks, each with its own event, in the order of the file', async () => {
    const alice = { type: 'user', name: 'alice' };
    const tables = Array.from({ length: 2_500 }, (_, i) => `t${i}`);
    const resources = tables.map((table) => ({ catalog: 'sales', schema: 'many', table }));
    const file = {
      version: 1,
      grants: resources.map((resource) => ({ resource, principal: alice, privileges: ['SELECT'] })),
    };
    const rows = async (query: string): Promise<unknown[]> => {
      const database = new Client(service.database.url);
      await database.connect();
      const found = await database.query<{ row: unknown }>(query).finally(() => database.end());
      return found.rows.map(({ row }) => row);
    };
    expect(await apply(file)).toHaveLength(tables.length);
    const recorded = `SELECT g.table_name AS row FROM audit_events e JOIN grants g ON g.id = e.subject_id::integer
                       WHERE g.schema_name = 'many'`;
    expect(await rows(`${recorded} AND e.event = 'grant_created' ORDER BY e.id`)).toEqual(tables);

    const others = file.grants.filter((_, i) => i % 2 === 0);
    expect(await apply({ version: 1, grants: others }, { prune: true })).toHaveLength(tables.length / 2);
    const gone = tables.filter((_, i) => i % 2 === 1);
    expect(new Set(await rows(`${recorded} AND e.event = 'grant_revoked'`))).toEqual(new Set(gone));
    expect((await exported()).grants).toHaveLength(others.length);
  });

  it('record that a group changed beside its members', async () => {
    const group = { name: 'readers', members: ['alice'], description: 'one' };
    await apply({ version: 1, groups: [group] });
    await apply({ version: 1, groups: [{ ...group, members: ['alice', 'bob'], description: 'two' }] });
    const { body } = await admin.get('/api/admin/audit?limit=3');
    const events = (body?.['items'] as { event: string }[]).map(({ event }) => event);
    expect(events).toEqual(['snapshot_applied', 'member_added', 'group_changed']);
  });

  it('remove only with --prune, members too', async () => {
    await apply(FILE);
    const less = {
      ...FILE,
      groups: [{ name: 'readers', members: ['bob'], description: 'read for the "reports"' }],
      grants: FILE.grants.slice(1),
      policies: FILE.policies.slice(1),
    };
    expect(await apply(less)).toEqual([]);
    expect(await exported()).toEqual(FILE);

    expect(await apply(less, { prune: true })).toEqual([
      '- member alice of readers',
      '- group auditors',
      '- grant SELECT on sales to engine etl-job # "nightly"',
      `- policy row_filter on sales.eu.orders for everyone except group auditors: region = 'EU' # "law"`,
    ]);
    expect(await exported()).toEqual({ ...less, users: [{ name: 'bob' }] });
  });

  it('change a policy in one step, and descriptions', async () => {
    await apply(FILE);
    const [filter, ...others] = FILE.policies;
    const [grant, ...grants] = FILE.grants;
    const changed = {
      ...FILE,
      groups: [FILE.groups[0], { ...FILE.groups[1], description: 'other words' }],
      grants: [{ ...grant, description: 'hourly' }, ...grants],
      policies: [{ ...filter, expression: "region = 'US'" }, ...others],
    };
    const before = await admin.get('/api/admin/policies');
    const lines = await apply(changed);
    expect(lines.map((line) => line.slice(0, 8))).toEqual(['~ group ', '~ grant ', '~ policy']);
    expect(await exported()).toEqual(changed);
    const policyIds = (body: Record<string, unknown> | null) =>
      (body?.['items'] as { id: number }[]).map(({ id }) => id);
    expect(policyIds((await admin.get('/api/admin/policies')).body)).toEqual(policyIds(before.body));
  });

  it('refuse what the API refuses: every problem with its place, and nothing is changed', async () => {
    await apply(FILE);
    await admin.post('/api/admin/grants', {
      principal: { type: 'engine', name: 'Robot' },
      resource: { catalog: 'sales' },
      privileges: ['SELECT'],
    });
    const before = await exported();
    const grant = (principal: object, resource: object, more: object = {}) => ({
      principal,
      resource,
      privileges: ['SELECT'],
      ...more,
    });
    const alice = { type: 'user', name: 'alice' };
    const reading = await planned({
      version: 1,
      settings: {},
      users: [{ name: 'alice' }, { name: 'nobody' }],
      groups: [
        { name: 'Readers', members: ['alice', 'zoe'] },
        { name: 'x', description: 'x'.repeat(1001) },
      ],
      grants: [
        grant(alice, { catalog: 'sales' }),
        grant({ type: 'user', name: 'zoe' }, { catalog: 'sales' }),
        grant(alice, { catalog: 'grantline' }),
        grant({ type: 'engine', name: 'service-account-grantline' }, { catalog: 'sales' }),
        grant({ type: 'engine', name: 'BOB' }, { catalog: 'sales' }),
        grant(alice, { catalog: 'Sales' }),
      ],
      policies: [
        { kind: 'row_filter', principal: { type: 'everyone' }, resource: ORDERS, expression: 'true) OR (true' },
      ],
    });
    expect(reading).toMatchObject({ kind: 'refused' });
    expect(
      problemsOf(reading)
        .map(({ path }) => path)
        .sort(),
    ).toEqual([
      'grants[1].principal',
      'grants[2].resource',
      'grants[3].principal.name',
      'grants[4].principal.name',
      'grants[5].resource.catalog',
      'groups[0].members[1]',
      'groups[0].name',
      'groups[1].description',
      'policies[0].expression',
      'settings',
      'users[1].name',
    ]);

    const later = await planned({
      version: 1,
      grants: [
        grant(alice, { catalog: 'sales' }, { expires_at: '2020-01-01T00:00:00Z' }),
        grant({ type: 'engine', name: 'robot' }, { catalog: 'sales' }),
      ],
    });
    expect(later).toMatchObject({ kind: 'refused' });
    expect(problemsOf(later).map(({ path }) => path)).toEqual(['grants[0].expires_at', 'grants[1].principal']);

    const mask = { kind: 'column_mask', principal: alice, resource: { ...ORDERS, column: 'card' }, expression: "'#'" };
    const masks = await planned({ version: 1, policies: [mask] });
    expect(masks).toMatchObject({ kind: 'refused', problems: [{ path: 'policies[0]' }] });
    expect(await exported()).toEqual(before);
  });

  it('never make, activate or deactivate an account', async () => {
    const file = { version: 1, users: [{ name: 'cyn' }, { name: 'alice', is_active: false }] };
    const { code, stderr } = await command(file);
    expect(code).toBe(0);
    expect(stderr).toContain('users[0].is_active cyn is deactivated here, which apply does not change');
    expect((await admin.get(`/api/admin/users/${ids.cyn}`)).body).toMatchObject({ is_active: false });
    expect((await admin.get(`/api/admin/users/${ids.alice}`)).body).toMatchObject({ is_active: true });
  });

  it('keep a grant that has expired since it was applied', async () => {
    const file = { ...FILE, grants: [{ ...FILE.grants[1], expires_at: '2020-12-01T00:00:00.000Z' }], policies: [] };
    await apply({ ...file, grants: [] });
    const database = new Client(service.database.url);
    await database.connect();
    await database.query(
      `INSERT INTO grants (group_id, catalog_name, schema_name, privileges, expires_at, granted_at)
       SELECT id, 'sales', 'eu', '{SELECT,INSERT}', '2020-12-01', '2020-11-01' FROM groups WHERE name = 'readers'`,
    );
    await database.end();
    expect((await exported()).grants).toEqual([]);
    expect(await apply(file, { prune: true })).toEqual([]);
    const gone = { version: 1 };
    expect(await apply(gone, { prune: true })).toContain('- group auditors');
    expect(await exported()).toEqual({ version: 1, users: [], groups: [], grants: [], policies: [] });
  });

  it('wait for a change that is under way, and plan with it', async () => {
    const database = new Client(service.database.url);
    await database.connect();
    await database.query('BEGIN');
    await database.query(
      `INSERT INTO grants (user_id, catalog_name, privileges, granted_at) VALUES ($1, 'sales', '{SELECT}', now())`,
      [ids.alice],
    );
    const applying = apply({ version: 1 }, { prune: true });
    for (;;) {
      const { rows } = await database.query<{ waiting: boolean }>(
        `SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database
                         WHERE d.datname = current_database() AND NOT l.granted) AS waiting`,
      );
      if (rows[0]?.waiting === true) break;
    }
    await database.query('COMMIT');
    await database.end();
    expect(await applying).toEqual(['- grant SELECT on sales to user alice']);
  });

  it('end with 2 where the file cannot be read', async () => {
    expect(await command('version: [')).toMatchObject({ code: 2, stdout: '' });
    expect(await run('apply', join(folder, 'nowhere'))).toMatchObject({ code: 2, stdout: '' });
    expect(await run('export', '--format', 'xml')).toMatchObject({ code: 2, stdout: '' });
    expect(await readFile(join(folder, 'access'), 'utf8')).toBe('version: [');
  });
});
