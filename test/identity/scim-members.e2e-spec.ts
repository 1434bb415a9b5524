import { AbstractLogger, DataSource } from 'typeorm';
import { FakeTimers } from '../support/fakes/fake-timers.js';
import { sharedAdministrator } from '../support/service/administrator.js';
import { SCIM_TOKEN, ScimClient, scimGroup, scimUser, statusOf, URN } from '../support/service/scim-client.js';
import { MANY_PEOPLE, sharedMembers } from '../support/service/scim-members.js';
import { sharedService } from '../support/service/service.js';

/** Every statement of the service that goes through the ORM. */
class StatementLog extends AbstractLogger {
  readonly statements: string[] = [];

  override logQuery(statement: string): void {
    this.statements.push(statement);
  }

  protected override writeLog(): void {
    // Statements alone.
  }
}

describe('members of groups by SCIM', () => {
  // Time stands still for background work, whose statements would count.
  const service = sharedService({ SCIM_TOKEN }, { timers: new FakeTimers() });
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

  it('are bounded in what filters may cost, as emails are', async () => {
    const emails = Array.from({ length: 100 }, (_, each) => ({ value: `${each}@example.org`, type: 'work' }));
    const path = await scim.made('/Users', scimUser('of many emails', { emails }));
    const filter = new Array<string>(100).fill('type eq "home"').join(' or ');
    const removals = (count: number) => new Array<object>(count).fill({ op: 'remove', path: `emails[${filter}]` });
    expect((await scim.patch(path, ...removals(50))).status).toBe(200);
    expect(await statusOf(scim.patch(path, ...removals(51)))).toEqual([400, 'tooMany']);
    const keys = Object.fromEntries(Array.from({ length: 1_000 }, (_, key) => [`key${key}`, true]));
    const many = new Array<object>(11).fill({ op: 'add', value: keys });
    expect(await statusOf(scim.patch(path, ...many))).toEqual([400, 'tooMany']);
    await scim.delete(path);
  });

  describe('of ten thousand', () => {
    let all: { value: string }[];
    let path: string;
    beforeAll(async () => {
      const people = await source().query<{ id: number }[]>(MANY_PEOPLE, [10_000]);
      all = people.map((each) => ({ value: String(each.id) }));
      path = await scim.made('/Groups', scimGroup('Many', { members: all.slice(1) }));
    });
    const source = () => service.app.get(DataSource);
    const memberOf = async (group: string) =>
      ((await scim.get(group)).body?.['members'] as { value: string }[]).map(({ value }) => value);
    const add = (...value: { value: string }[]) => ({ op: 'add', path: 'members', value });
    const remove = (...value: { value: string }[]) => ({ op: 'Remove', path: 'members', value });

    it('cost what those of ten cost: the same statements, and the rows that change', async () => {
      const small = await scim.made('/Groups', scimGroup('Ten', { members: all.slice(1, 11) }));
      const log = new StatementLog();
      source().setOptions({ logging: ['query'], logger: log });
      const costs = async (group: string, operation: object) => {
        log.statements.length = 0;
        const rows = await rowsWritten(() => scim.patch(group, operation));
        return { statements: log.statements.filter((text) => !text.includes('xmin')), rows };
      };
      for (const [operation, joined] of [
        [add(...all.slice(0, 2)), 1],
        [remove(...all.slice(0, 1)), 0],
      ] as const) {
        const ofMany = await costs(path, operation);
        expect(ofMany.rows).toEqual({ group_members: joined, groups: 1, audit_events: 1, users: 0, scim_users: 0 });
        expect(ofMany.statements.length).toBeGreaterThan(5);
        expect(await costs(small, operation)).toEqual(ofMany);
      }
    });

    it('are not removed by filters that make millions of comparisons', async () => {
      const filter = (count: number) => new Array<string>(count).fill('value co "x"').join(' or ');
      const removal = (count: number) => ({ op: 'remove', path: `members[${filter(count)}]` });
      expect((await scim.patch(path, removal(40))).status).toBe(204);
      expect(await statusOf(scim.patch(path, removal(60)))).toEqual([400, 'tooMany']);
      expect(await statusOf(scim.patch(path, removal(30), removal(30)))).toEqual([400, 'tooMany']);
    });

    /** By table; a row that is gone is none. */
    async function rowsWritten(work: () => Promise<unknown>): Promise<Record<string, number>> {
      const [before] = await source().query<{ xid: string }[]>('SELECT pg_current_xact_id() AS xid');
      await work();
      const tables = ['group_members', 'groups', 'audit_events', 'users', 'scim_users'];
      const written = (table: string) =>
        `(SELECT count(*)::integer FROM ${table} WHERE xmin::text::bigint > ${before?.xid}) AS ${table}`;
      const [rows] = await source().query<Record<string, number>[]>(`SELECT ${tables.map(written).join(', ')}`);
      return rows ?? {};
    }

    it('are all there after many changes at once', async () => {
      await scim.patch(path, add(...all));
      const clients = Array.from({ length: 12 }, (_, client) => all.slice(client * 3 + 100, client * 3 + 103));
      await Promise.all(
        clients.map(async ([a, b, c]) => {
          if (a === undefined || b === undefined || c === undefined) throw new Error('too few people');
          await scim.patch(path, { op: 'remove', path: `members[value eq "${a.value}"]` });
          await scim.patch(path, remove(b, c));
          await scim.patch(path, add(b));
        }),
      );
      const gone = new Set(clients.flatMap(([a, , c]) => [a?.value, c?.value]));
      const left = all.map(({ value }) => value).filter((value) => !gone.has(value));
      expect(await memberOf(path)).toEqual(left);
      expect((await scim.put(path, scimGroup('Many', { members: all }))).body?.['members']).toHaveLength(10_000);
    });

    it('are what the last change of each says, where many change the same ones', async () => {
      const contested = all.slice(200, 203);
      const [before] = await source().query<{ id: string }[]>('SELECT max(id) AS id FROM audit_events');
      const clients = Array.from({ length: 12 }, async (_, client) => {
        for (const [step, member] of contested.entries()) {
          expect((await scim.patch(path, (client + step) % 2 === 0 ? add(member) : remove(member))).status).toBe(204);
        }
      });
      await Promise.all(clients);
      const events = await source().query<{ event: string; member: string }[]>(
        `SELECT event, details->>'user_id' AS member FROM audit_events WHERE id > $1 ORDER BY id`,
        [before?.id],
      );
      const members = await memberOf(path);
      for (const { value } of contested) {
        // All were in: each change that is recorded is one, and follows from the one before.
        const changes = events.filter(({ member }) => member === value).map(({ event }) => event);
        expect(changes).toEqual(changes.map((_, at) => (at % 2 === 0 ? 'member_removed' : 'member_added')));
        expect(changes.length).toBeGreaterThan(0);
        expect(members.includes(value)).toBe(changes.at(-1) === 'member_added');
      }
    });
  });
});
