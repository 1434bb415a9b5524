import { DataSource } from 'typeorm';
import { sharedAdministrator } from '../support/service/administrator.js';
import { SCIM_TOKEN, ScimClient, scimGroup, statusOf, URN } from '../support/service/scim-client.js';
import { sharedMembers } from '../support/service/scim-members.js';
import { sharedService } from '../support/service/service.js';

describe('members of groups by SCIM', () => {
  const service = sharedService({ SCIM_TOKEN });
  const boss = sharedAdministrator(service);
  const scim = new ScimClient(service);
  const { id, some, patched } = sharedMembers(scim);

  it('are people whom SCIM knows: with another one, nothing is changed', async () => {
    const path = await scim.made('/Groups', scimGroup('Traps', { members: some(0) }));
    const stranger = await boss.post('/api/admin/users', { username: 'of no provider' });
    for (const value of ['999999', 'x', '01', String(stranger.body?.['id']), '9'.repeat(40)]) {
      const add = { op: 'add', path: 'members', value: [...some(1), { value }] };
      const { status, body } = await scim.patch(path, { op: 'replace', value: { displayName: 'New' } }, add);
      expect([status, body?.['scimType'], body?.['detail']]).toEqual([
        ...[400, 'invalidValue', `There are no such users: ${JSON.stringify(value)}.`],
      ]);
      expect((await scim.put(path, scimGroup('New', { members: [{ value }] }))).status).toBe(400);
      expect((await scim.post('/Groups', scimGroup('New', { members: [{ value }] }))).status).toBe(400);
      expect(await patched(path, { op: 'remove', path: 'members', value: [{ value }] })).toEqual([0]);
    }
    expect((await scim.get(path)).body).toMatchObject({ displayName: 'Traps' });
    expect(await scim.found('/Groups', 'displayName eq "New"')).toEqual([]);
    expect(await patched(path, { op: 'add', path: 'members', value: [{ value: id(1), type: 'Group' }] })).toEqual([
      400,
      'invalidValue',
    ]);
  });

  it('join and leave in every spelling of PATCH', async () => {
    const path = await scim.made('/Groups', scimGroup('Spelled', { members: some(0, 1, 2, 3) }));
    const filled = { op: 'replace', value: { members: some(0, 1, 2, 3) } };
    const at = (each: number) => `value eq "${id(each)}"`;
    for (const [operations, left] of [
      [[{ op: 'remove', path: 'members', value: [] }], [0, 1, 2, 3]],
      [[{ op: 'remove', path: 'members' }], []],
      [[{ op: 'replace', path: 'members', value: [] }], []],
      [[{ op: 'add', path: 'members', value: [] }], [0, 1, 2, 3]],
      [[{ op: 'remove', path: 'members', value: id(1) }], [0, 2, 3]],
      [[{ op: 'Remove', path: 'Members', value: { value: id(1) } }], [0, 2, 3]],
      [[{ op: 'remove', path: `members[${at(0)} or ${at(3)}]` }], [1, 2]],
      [[{ op: 'remove', path: `${URN.group}:members[not (${at(2)})]` }], [2]],
      [[{ op: 'remove', path: 'members[type eq "user"]' }], []],
      [[{ op: 'remove', path: 'members[value eq "x"]' }], [0, 1, 2, 3]],
      [
        [
          { op: 'remove', path: 'members' },
          { op: 'add', value: { members: some(2) } },
        ],
        [2],
      ],
      [[{ op: 'replace', value: { members: [...some(1), ...some(1)], 'urn:x:members': [1] } }], [1]],
      [[{ op: 'replace', path: 'members[value eq "1"]', value: some(1) }], [400, 'mutability']],
      [[{ op: 'replace', path: 'members.value', value: '1' }], [400, 'mutability']],
      [[{ op: 'add', path: 'members', value: [{ display: 'x' }] }], [400, 'invalidValue']],
      [[{ op: 'remove', path: 'displayName' }], [400, 'invalidValue']],
      [[{ op: 'replace', value: { id: '1' } }], [400, 'mutability']],
      [[{ op: 'add', path: '__proto__.polluted', value: 'yes' }], [0, 1, 2, 3]],
    ] as const) {
      await scim.patch(path, filled);
      expect([operations, await patched(path, ...operations)]).toEqual([operations, left]);
    }
    expect('polluted' in {}).toBe(false);
    expect(await statusOf(scim.post('/Groups', { schemas: [URN.group] }))).toEqual([400, 'invalidValue']);
  });

  it('of ten thousand are all there after many changes at once, each of the rows that it names', async () => {
    const source = service.app.get(DataSource);
    const many = await source.query<{ id: number }[]>(
      `WITH names AS (INSERT INTO principal_names (name, holder, claimed_at, account_key)
         SELECT 'many ' || n, 'account', now(), 'many ' || n FROM generate_series(1, 10000) n RETURNING name),
       made AS (INSERT INTO users (username, role, source, is_active, created_at)
         SELECT name, 'user', 'scim', true, now() FROM names RETURNING id)
       INSERT INTO scim_users (user_id, emails, changed_at) SELECT id, '[]', now() FROM made RETURNING user_id AS id`,
    );
    const all = many.map((each) => ({ value: String(each.id) }));
    const [, ...most] = all;
    const path = await scim.made('/Groups', scimGroup('Many', { members: most }));
    const rows = async () => {
      const [counted] = await source.query<{ rows: string }[]>('SELECT max(id) AS rows FROM audit_events');
      return Number(counted?.rows);
    };
    const before = await rows();
    expect((await scim.patch(path, { op: 'add', path: 'members', value: all.slice(0, 2) })).status).toBe(204);
    expect((await rows()) - before).toBe(1);

    const clients = Array.from({ length: 32 }, (_, client) =>
      [0, 1, 2].map((step) => all[client * 3 + step + 100]?.value ?? ''),
    );
    await Promise.all(
      clients.map(async ([a = '', b = '', c = '']) => {
        await scim.patch(path, { op: 'remove', path: `members[value eq "${a}"]` });
        await scim.patch(path, { op: 'Remove', path: 'members', value: [{ value: b }, { value: c }] });
        await scim.patch(path, { op: 'add', path: 'members', value: [{ value: b }] });
      }),
    );
    const gone = new Set(clients.flatMap(([a, , c]) => [a, c]));
    const { body } = await scim.get(path);
    const left = (body?.['members'] as { value: string }[]).map(({ value }) => value);
    expect(left).toEqual(all.map(({ value }) => value).filter((value) => !gone.has(value)));
    expect((await scim.put(path, scimGroup('Many', { members: all }))).body?.['members']).toHaveLength(10_000);
  });
});
