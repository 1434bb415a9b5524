import fc from 'fast-check';
import { SETTINGS } from '../../../test/support/snapshots/snapshot-builder.js';
import { anySnapshot } from '../../../test/support/snapshots/any-snapshot.js';
import { privilegesOn } from './privilege.js';
import { readSnapshot, writeSnapshot } from './snapshot-file.js';

const AT = new Date('2026-11-20T00:00:00.000Z');
const read = (value: unknown) => readSnapshot(value, { settings: SETTINGS, at: AT });
const problems = (value: unknown) => {
  const reading = read(value);
  return reading.kind === 'refused' ? reading.problems.map(({ path, message }) => `${path}: ${message}`) : [];
};
const alice = { type: 'user', name: 'alice' };
const file = (parts: object) => ({
  version: 1,
  users: [{ id: 1, name: 'alice' }],
  groups: [{ name: 'staff' }],
  ...parts,
});
const grant = (parts: object) =>
  file({ grants: [{ principal: alice, resource: { catalog: 'sales' }, privileges: ['SELECT'], ...parts }] });
const policy = (parts: object) =>
  file({ policies: [{ principal: { type: 'everyone' }, resource: { catalog: 'sales' }, ...parts }] });

describe('a snapshot file', () => {
  it('reads the form of the documentation', () => {
    const reading = read({
      version: 1,
      users: [{ id: 7, name: 'alice', is_active: true }, { name: 'Bob' }],
      groups: [{ id: 1, name: 'eu-analysts', members: [7, 'Bob', { engine: 'airflow' }] }],
      grants: [
        {
          principal: { type: 'group', name: 'eu-analysts' },
          resource: { catalog: 'sales', schema: 'eu' },
          privileges: ['SELECT'],
          expires_at: null,
          revoked_at: null,
        },
        {
          principal: { type: 'engine', name: 'etl' },
          resource: { catalog: 'sales' },
          privileges: ['INSERT', 'SELECT'],
          expires_at: '2026-12-01T00:00:00.000Z',
        },
      ],
      policies: [
        {
          kind: 'row_filter',
          principal: { type: 'everyone' },
          except: [{ type: 'user', id: 7 }],
          resource: { catalog: 'sales' },
          expression: "region = 'EU'",
        },
      ],
      settings: { own_account: 'service-account-g', writable_catalogs: ['lake2'] },
      at: '2026-11-20T00:00:00.000Z',
    });

    expect(reading).toEqual({
      kind: 'read',
      snapshot: {
        users: [
          { id: 7, name: 'alice', isActive: true },
          { id: 8, name: 'Bob', isActive: true },
        ],
        groups: [{ id: 1, name: 'eu-analysts', members: [7, 8], engines: ['airflow'] }],
        grants: [
          {
            id: 1,
            principal: { type: 'group', id: 1 },
            resource: { catalog: 'sales', schema: 'eu' },
            privileges: ['SELECT'],
            expiresAt: null,
            revokedAt: null,
          },
          {
            id: 2,
            principal: { type: 'engine', name: 'etl' },
            resource: { catalog: 'sales' },
            privileges: ['SELECT', 'INSERT'],
            expiresAt: new Date('2026-12-01T00:00:00.000Z'),
            revokedAt: null,
          },
        ],
        policies: [
          {
            id: 1,
            kind: 'row_filter',
            principal: { type: 'everyone' },
            except: [{ type: 'user', id: 7 }],
            resource: { catalog: 'sales' },
            expression: "region = 'EU'",
          },
        ],
        settings: {
          ...SETTINGS,
          ownAccount: 'service-account-g',
          serviceAccounts: ['service-account-g', 'service-account-grantline'],
          writableCatalogs: ['lake2'],
        },
        at: AT,
      },
    });
  });

  it('takes what is left out from the settings and the clock', () => {
    expect(read({ version: 1 })).toEqual({
      kind: 'read',
      snapshot: { users: [], groups: [], grants: [], policies: [], settings: SETTINGS, at: AT },
    });
  });

  it('lists every problem at once', () => {
    expect(problems({ version: 2, grant: [], users: [{ id: 0 }, 5] })).toEqual([
      'grant: is not a known field',
      'version: must be 1',
      'users[0].id: must be an integer from 1 to 2147483647',
      'users[0].name: must be a string',
      'users[1]: must be an object',
    ]);
    expect(problems([])).toEqual([': must be an object']);
    expect(problems({ version: 1, users: [5, { id: 1, name: 7 }] })).toEqual([
      'users[0]: must be an object',
      'users[1].name: must be a string',
    ]);
    expect(problems({ version: 1, grants: [null], groups: [{ name: 1 }, { name: 2 }] })).toEqual([
      'groups[0].name: must be a string',
      'groups[1].name: must be a string',
      'grants[0]: must be an object',
    ]);
  });

  it('numbers rows without an id after very many with one', () => {
    const users = Array.from({ length: 200_000 }, (_, i) => ({ id: i + 1, name: `user${i}` }));
    const reading = read({ version: 1, users: [...users, { name: 'last' }] });
    expect(reading.kind === 'read' && reading.snapshot.users.at(-1)).toMatchObject({ id: 200_001 });
  });

  it.each([0, -1, 1.5, '7', null, 2 ** 31, Number.MAX_SAFE_INTEGER, 1e300])('refuses the id %j', (id) => {
    expect(problems({ version: 1, groups: [{ id, name: 'a' }, { name: 'b' }, { name: 'c' }] })).toEqual([
      'groups[0].id: must be an integer from 1 to 2147483647',
    ]);
  });

  it.each([
    [file({ users: [{ name: 'alice' }, { name: 'Alice' }] }), 'users[1].name: is the name of an account already'],
    [
      file({ users: [{ name: 'Service-Account-Grantline' }] }),
      'users[0].name: is the name of a service account already',
    ],
    [
      file({
        users: [
          { id: 3, name: 'a' },
          { id: 3, name: 'b' },
        ],
      }),
      'users[1].id: is the id of another row',
    ],
    [file({ groups: [{ name: 'a' }, { name: 'A' }] }), 'groups[1].name: is the name of another group'],
    [file({ groups: [{ name: 'a', members: [2] }] }), 'groups[0].members[0]: names no user of this file'],
    [grant({ principal: { type: 'user', name: 'bob' } }), 'grants[0].principal: names no user of this file'],
    [grant({ principal: { type: 'user', id: 1, name: 'bob' } }), 'grants[0].principal: names no user of this file'],
    [grant({ principal: { type: 'everybody' } }), 'grants[0].principal.type: must be one of user, group, engine'],
    [
      file({ groups: [{ name: 'a', members: [{ engine: 'ALICE' }] }] }),
      'groups[0].members[0].engine: is the name of an account, not of an engine principal: give the program another name, or mark the person in the list of users (user: before the name) and import again',
    ],
    [
      policy({ kind: 'row_filter', resource: { catalog: 'sales', engine: true }, expression: 'a' }),
      'policies[0].resource.catalog: cannot be given beside engine',
    ],
    [
      policy({ kind: 'row_filter', resource: { catalog: 'sales', routine: 'sync' }, expression: 'a' }),
      'policies[0].resource.schema: must be given where a routine is',
    ],
    [
      grant({ principal: { type: 'engine', name: 'ALICE' } }),
      'grants[0].principal.name: is the name of an account, not of an engine principal: give the program another name, or mark the person in the list of users (user: before the name) and import again',
    ],
    [grant({ resource: { catalog: 'Sales' } }), 'grants[0].resource.catalog: must be lower-case, as the engine has it'],
    [
      grant({ resource: { catalog: 'sales', table: 't' } }),
      'grants[0].resource.schema: must be given where a table is',
    ],
    [grant({ resource: { catalog: 'sales', column: 'x' } }), 'grants[0].resource.column: is not a known field'],
    [
      grant({ resource: { catalog: 'a\u0000b' } }),
      'grants[0].resource.catalog: must not hold control, format or unassigned characters',
    ],
    [
      grant({ resource: { catalog: 'grantline' } }),
      "grants[0].resource: nobody may be given anything in grantline, the service's own catalog",
    ],
    [
      grant({ resource: { catalog: 'system', schema: 'builtin', table: 'queries' } }),
      'grants[0].resource: in the catalog system, only the whole of it, its schemas jdbc, metadata, runtime, their tables and runtime.kill_query can be named',
    ],
    [
      grant({ resource: { catalog: 'system' }, privileges: ['INSERT'] }),
      'grants[0].privileges[0]: must be one of SELECT',
    ],
    [
      policy({ kind: 'hidden_column', resource: { catalog: 'system', schema: 'runtime', column: 'query' } }),
      'policies[0].resource: only a deny can be on system.runtime',
    ],
    [grant({ privileges: [] }), 'grants[0].privileges: must name at least one privilege'],
    [
      grant({ privileges: ['select'] }),
      'grants[0].privileges[0]: must be one of SELECT, INSERT, DELETE, UPDATE, SCHEMA_OWNERSHIP, TABLE_OWNERSHIP, OWNERSHIP, GRANT_SELECT, EXECUTE_FUNCTION, GRANT_EXECUTE_FUNCTION, CALL_PROCEDURE',
    ],
    [
      grant({ expires_at: '2026-02-30T00:00:00.000Z' }),
      'grants[0].expires_at: must be a moment in UTC such as 2026-11-20T00:00:00.000Z',
    ],
    [
      grant({ expires_at: '2026-02-03' }),
      'grants[0].expires_at: must be a moment in UTC such as 2026-11-20T00:00:00.000Z',
    ],
    [
      policy({ kind: 'row_filter', expression: 'x) OR (true' }),
      'policies[0].expression: ")" at character 2 closes nothing',
    ],
    [policy({ kind: 'column_mask', expression: 'NULL' }), 'policies[0].resource.column: must be a string'],
    [policy({ kind: 'deny', expression: 'NULL' }), 'policies[0].expression: means nothing in a deny'],
    [policy({ kind: 'deny', principal: { type: 'everyone', a: 1 } }), 'policies[0].principal.a: is not a known field'],
    [
      policy({ kind: 'row_filter', expression: 'a', privileges: ['SELECT'] }),
      'policies[0].privileges: means nothing in a row_filter',
    ],
    [file({ settings: { metadata_catalog: 'system' } }), 'settings.metadata_catalog: is closed anyway'],
    [file({ at: '2026-02-30T00:00:00.000Z' }), 'at: must be a moment in UTC such as 2026-11-20T00:00:00.000Z'],
    [file({ groups: [{ name: 'staff', description: 'all', note: 1 }] }), 'groups[0].note: is not a known field'],
    [
      file({ settings: { writable_catalogs: ['grantline'] } }),
      'settings.writable_catalogs[0]: must be neither the metadata catalog nor system',
    ],
  ])('refuses %j', (value, problem) => {
    expect(problems(value)).toEqual([problem]);
  });

  it('denies everything where a deny names no privileges', () => {
    const reading = read(policy({ kind: 'deny' }));

    expect(reading).toMatchObject({
      snapshot: { policies: [{ privileges: privilegesOn({ catalog: 'sales' }) }] },
    });
  });

  it('reads what it writes', () => {
    fc.assert(
      fc.property(anySnapshot(), (snapshot) => {
        const reading = read(JSON.parse(JSON.stringify(writeSnapshot(snapshot))));
        fc.pre(reading.kind === 'read');
        expect(reading).toEqual({ kind: 'read', snapshot });
      }),
      { numRuns: 40 },
    );
  });
});
