import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AppliedForm } from '../../src/grants/snapshot-files.service.js';
import { FILE, ORDERS, type SnapshotFiles, startSnapshotFiles } from '../support/snapshots/snapshot-files.js';

const problemsOf = ({ problems }: AppliedForm) => problems;

describe('snapshot files, refused', () => {
  let files: SnapshotFiles;
  beforeAll(async () => {
    files = await startSnapshotFiles();
  });
  beforeEach(() => files.planned({ version: 1 }, { prune: true }));
  afterAll(() => files.stop());

  it('refuse acting as one that acts as others, also by the same file; who acts only later is left out, and stays in the file', async () => {
    const engine = (name: string) => ({ type: 'engine', name });
    const acts = (name: string, as: object) => ({
      principal: engine(name),
      resource: { as },
      privileges: ['IMPERSONATE'],
    });
    const asPortal = acts('bi', engine('portal'));
    const asAlice = acts('portal', { type: 'user', name: 'alice' });
    const file = { version: 1, users: [{ name: 'alice' }], groups: [], grants: [asPortal, asAlice], policies: [] };
    const refused = await files.planned(file);
    expect(problemsOf(refused)).toEqual([
      { path: 'grants[0].resource.as.name', message: expect.stringContaining('holds IMPERSONATE itself') as string },
    ]);
    expect((await files.exported()).grants).toEqual([]);

    await files.apply({ ...file, grants: [asPortal] });
    await files.apply(file);
    expect(await files.planned(await files.exported())).toMatchObject({ outcome: 'no_change' });
  });

  it('refuse a program by the name of an account, and say what to do', async () => {
    const grant = {
      principal: { type: 'engine', name: 'alice' },
      resource: { catalog: 'sales' },
      privileges: ['SELECT'],
    };
    const refused = await files.planned({ version: 1, users: [], groups: [], grants: [grant], policies: [] });
    const message = expect.stringMatching(
      /^is the name of an account, .* mark the person in the list of users \(user: before the name\)/,
    ) as string;
    expect(problemsOf(refused)).toEqual([{ path: 'grants[0].principal.name', message }]);
  });

  it('refuse what the API refuses: every problem with its place, and nothing is changed', async () => {
    await files.apply(FILE);
    await files.admin.post('/api/admin/grants', {
      principal: { type: 'engine', name: 'Robot' },
      resource: { catalog: 'sales' },
      privileges: ['SELECT'],
    });
    const before = await files.exported();
    const grant = (principal: object, resource: object, more: object = {}) => ({
      principal,
      resource,
      privileges: ['SELECT'],
      ...more,
    });
    const alice = { type: 'user', name: 'alice' };
    const reading = await files.planned({
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
    expect(reading).toMatchObject({ outcome: 'refused' });
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
    // Names are looked up among the accounts, too.
    const message = 'there is no account zoe';
    expect(problemsOf(reading)).toEqual(
      expect.arrayContaining(['grants[1].principal', 'groups[0].members[1]'].map((path) => ({ path, message }))),
    );

    const later = await files.planned({
      version: 1,
      grants: [
        grant(alice, { catalog: 'sales' }, { expires_at: '2020-01-01T00:00:00Z' }),
        grant({ type: 'engine', name: 'robot' }, { catalog: 'sales' }),
      ],
    });
    expect(later).toMatchObject({ outcome: 'refused' });
    expect(problemsOf(later).map(({ path }) => path)).toEqual(['grants[0].expires_at', 'grants[1].principal']);

    const mask = { kind: 'column_mask', principal: alice, resource: { ...ORDERS, column: 'card' }, expression: "'#'" };
    const masks = await files.planned({ version: 1, policies: [mask] });
    expect(masks).toMatchObject({ outcome: 'refused', problems: [{ path: 'policies[0]' }] });
    expect(await files.exported()).toEqual(before);
  });

  it('never make, activate or deactivate an account', async () => {
    const file = { version: 1, users: [{ name: 'cyn' }, { name: 'alice', is_active: false }] };
    const { code, stderr } = await files.command(file);
    expect(code).toBe(0);
    expect(stderr).toContain('users[0].is_active cyn is deactivated here, which apply does not change');
    expect((await files.admin.get(`/api/admin/users/${files.ids.cyn}`)).body).toMatchObject({ is_active: false });
    expect((await files.admin.get(`/api/admin/users/${files.ids.alice}`)).body).toMatchObject({ is_active: true });
  });

  it('have any number of problems, of which the command shows the first', async () => {
    const grants = Array.from({ length: 200_000 }, () => ({
      principal: 1,
      resource: { catalog: 'sales' },
      privileges: ['SELECT'],
    }));
    expect(problemsOf(await files.planned({ version: 1, grants }))).toHaveLength(grants.length);
    const { code, stdout, stderr } = await files.command({ version: 1, grants: grants.slice(0, 150) });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    const lines = stderr.split('\n').filter((line) => line.includes(files.folder));
    expect(lines).toHaveLength(101);
    expect(lines[0]).toMatch(/access: grants\[0\]\.principal must be an object$/);
    expect(lines[100]).toMatch(/access: 50 more problems$/);
  });

  it('end with 2 where the file cannot be read', async () => {
    expect(await files.command('version: [')).toMatchObject({ code: 2, stdout: '' });
    expect(await files.run('apply', join(files.folder, 'nowhere'))).toMatchObject({ code: 2, stdout: '' });
    expect(await files.run('export', '--format', 'xml')).toMatchObject({ code: 2, stdout: '' });
    expect(await readFile(join(files.folder, 'access'), 'utf8')).toBe('version: [');
  });
});
