import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { parse } from 'yaml';
import { runGrantline } from '../support/service/grantline-process.js';
import { lockWaiters } from '../support/database/lock-waiters.js';
import { FILE, type SnapshotFiles, startSnapshotFiles } from '../support/snapshots/snapshot-files.js';
import { until } from '../support/service/until.js';

describe('snapshot files, applied', () => {
  let files: SnapshotFiles;
  beforeAll(async () => {
    files = await startSnapshotFiles();
  });
  beforeEach(() => files.planned({ version: 1 }, { prune: true }));
  afterAll(() => files.stop());

  it('are exported as they were applied, and applied again they change nothing', async () => {
    const plan = await files.command(FILE, '--dry-run', '--json');
    expect(plan.code).toBe(1);
    const { outcome, plan: steps } = JSON.parse(plan.stdout) as { outcome: string; plan: unknown[] };
    expect(outcome).toBe('planned');
    expect((await files.exported()).grants).toEqual([]);

    const applied = await files.command(FILE);
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

    expect(await files.exported()).toEqual(FILE);
    const yaml = (await files.run('export', '--format', 'yaml')).stdout;
    expect(parse(yaml)).toEqual(FILE);
    expect(await files.command(yaml, '--prune')).toMatchObject({ code: 0, stdout: 'no change\n' });
    expect(await files.planned(FILE, { dryRun: true, prune: true })).toMatchObject({ outcome: 'no_change', plan: [] });
  });

  it('tell names apart that differ in the case of letters beyond ASCII', async () => {
    const name = (first: string) => ({ type: 'engine', name: `${first}nal` });
    const file = {
      ...{ version: 1, users: [], policies: [] },
      groups: [
        { name: 'Ärzte', members: [] },
        { name: 'ärzte', members: [] },
      ],
      grants: ['Ü', 'ü'].map((first) => ({
        resource: { catalog: 'sales' },
        principal: name(first),
        privileges: ['SELECT'],
      })),
    };

    expect(await files.planned(file)).toMatchObject({ outcome: 'applied' });
    expect(await files.planned(await files.exported())).toMatchObject({ outcome: 'no_change' });
  });

  it('are audited as the same changes by the API', async () => {
    const trail = async () => {
      const { body } = await files.admin.get('/api/admin/audit?limit=200');
      return body?.['items'] as { id: number; event: string; actor: unknown }[];
    };
    const [last] = await trail();
    await files.apply(FILE);
    await files.apply({ ...FILE, groups: [FILE.groups[0]], grants: [], policies: [] }, { prune: true });
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
      const database = new Client(files.service.database.url);
      await database.connect();
      const found = await database.query<{ row: unknown }>(query);
      await database.end();
      return found.rows.map(({ row }) => row);
    };
    expect(await files.apply(file)).toHaveLength(tables.length);
    const recorded = `SELECT g.table_name AS row FROM audit_events e JOIN grants g ON g.id = e.subject_id::integer
                       WHERE g.schema_name = 'many'`;
    expect(await rows(`${recorded} AND e.event = 'grant_created' ORDER BY e.id`)).toEqual(tables);

    const others = file.grants.filter((_, i) => i % 2 === 0);
    expect(await files.apply({ version: 1, grants: others }, { prune: true })).toHaveLength(tables.length / 2);
    const gone = tables.filter((_, i) => i % 2 === 1);
    expect(new Set(await rows(`${recorded} AND e.event = 'grant_revoked'`))).toEqual(new Set(gone));
    expect((await files.exported()).grants).toHaveLength(others.length);
  });

  it('record that a group changed beside its members', async () => {
    const group = { name: 'readers', members: ['alice'], description: 'one' };
    await files.apply({ version: 1, groups: [group] });
    await files.apply({ version: 1, groups: [{ ...group, members: ['alice', 'bob'], description: 'two' }] });
    const { body } = await files.admin.get('/api/admin/audit?limit=3');
    const events = (body?.['items'] as { event: string }[]).map(({ event }) => event);
    expect(events).toEqual(['snapshot_applied', 'member_added', 'group_changed']);
  });

  it('remove only with --prune, members too', async () => {
    await files.apply(FILE);
    const less = {
      ...FILE,
      groups: [{ name: 'readers', members: ['bob'], description: 'read for the "reports"' }],
      grants: FILE.grants.slice(1),
      policies: FILE.policies.slice(1),
    };
    expect(await files.apply(less)).toEqual([]);
    expect(await files.exported()).toEqual(FILE);

    expect(await files.apply(less, { prune: true })).toEqual([
      '- member alice of readers',
      '- group auditors',
      '- grant SELECT on sales to engine etl-job # "nightly"',
      `- policy row_filter on sales.eu.orders for everyone except group auditors: region = 'EU' # "law"`,
    ]);
    expect(await files.exported()).toEqual({ ...less, users: [{ name: 'bob' }] });
  });

  it('change a policy in one step, and descriptions', async () => {
    await files.apply(FILE);
    const [filter, ...others] = FILE.policies;
    const [grant, ...grants] = FILE.grants;
    const changed = {
      ...FILE,
      groups: [FILE.groups[0], { ...FILE.groups[1], description: 'other words' }],
      grants: [{ ...grant, description: 'hourly' }, ...grants],
      policies: [{ ...filter, expression: "region = 'US'" }, ...others],
    };
    const before = await files.admin.get('/api/admin/policies');
    const lines = await files.apply(changed);
    expect(lines.map((line) => line.slice(0, 8))).toEqual(['~ group ', '~ grant ', '~ policy']);
    expect(await files.exported()).toEqual(changed);
    const policyIds = (body: Record<string, unknown> | null) =>
      (body?.['items'] as { id: number }[]).map(({ id }) => id);
    expect(policyIds((await files.admin.get('/api/admin/policies')).body)).toEqual(policyIds(before.body));
  });

  it('keep a grant that has expired since it was applied', async () => {
    const file = { ...FILE, grants: [{ ...FILE.grants[1], expires_at: '2020-12-01T00:00:00.000Z' }], policies: [] };
    await files.apply({ ...file, grants: [] });
    const database = new Client(files.service.database.url);
    await database.connect();
    await database.query(
      `INSERT INTO grants (group_id, catalog_name, schema_name, privileges, expires_at, granted_at)
       SELECT id, 'sales', 'eu', '{SELECT,INSERT}', '2020-12-01', '2020-11-01' FROM groups WHERE name = 'readers'`,
    );
    await database.end();
    expect((await files.exported()).grants).toEqual([]);
    expect(await files.apply(file, { prune: true })).toEqual([]);
    const gone = { version: 1 };
    expect(await files.apply(gone, { prune: true })).toContain('- group auditors');
    expect(await files.exported()).toEqual({ version: 1, users: [], groups: [], grants: [], policies: [] });
  });

  it('wait for a change that is under way, and plan with it', async () => {
    const database = new Client(files.service.database.url);
    await database.connect();
    await database.query('BEGIN');
    await database.query(
      `INSERT INTO grants (user_id, catalog_name, privileges, granted_at) VALUES ($1, 'sales', '{SELECT}', now())`,
      [files.ids.alice],
    );
    const applying = files.apply({ version: 1 }, { prune: true });
    await until(async () => (await lockWaiters(database)).length > 0);
    await database.query('COMMIT');
    await database.end();
    expect(await applying).toEqual(['- grant SELECT on sales to user alice']);
  });

  it('are told where a change under way does not end', async () => {
    const database = new Client(files.service.database.url);
    await database.connect();
    await database.query('BEGIN; LOCK TABLE grants IN ROW EXCLUSIVE MODE');
    const impatient = new URL(files.service.database.url);
    impatient.searchParams.set('options', '-c lock_timeout=100');
    const path = join(files.folder, 'waiting');
    await writeFile(path, JSON.stringify(FILE));
    const { code, stdout, stderr } = await runGrantline(['snapshot', 'apply', path], {
      ...files.environment,
      DATABASE_URL: impatient.href,
    });
    await database.end();
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(
      'grantline: groups and grants are being written by others: nothing was changed, try again later\n',
    );
  });

  it('are exported into a file, in the form of its name', async () => {
    const path = join(files.folder, 'exported.yaml');
    expect(await files.run('export', '--out', path)).toMatchObject({ code: 0, stdout: '' });
    expect(parse(await readFile(path, 'utf8'))).toEqual(JSON.parse(JSON.stringify(await files.exported())));
    expect((await stat(path)).mode & 0o777).toBe(0o640);
  });

  it('exit as ever where nobody reads the plan to its end', async () => {
    const tables = Array.from({ length: 3_000 }, (_, i) => ({ catalog: 'sales', schema: 'eu', table: `table${i}` }));
    const principal = { type: 'user', name: 'alice' };
    const grants = tables.map((resource) => ({ resource, principal, privileges: ['SELECT'] }));
    const path = join(files.folder, 'unread');
    await writeFile(path, JSON.stringify({ version: 1, grants }));
    const env = { ...files.environment, PATH: process.env['PATH'] };
    const child = spawn(process.execPath, ['dist/main.js', 'snapshot', 'apply', path], { env });
    child.stdout.destroy();
    child.stderr.resume();
    expect(await once(child, 'close')).toEqual([0, null]);
    expect((await files.exported()).grants).toHaveLength(tables.length);
  });
});
