import fc from 'fast-check';
import type { PolicySubject, Principal } from '../../src/grants/domain/principal.js';
import { PRIVILEGES, type Privilege } from '../../src/grants/domain/privilege.js';
import type { ColumnResource, Resource } from '../../src/grants/domain/resource.js';
import type { Snapshot, SnapshotGrant, SnapshotPolicy, SnapshotUser } from '../../src/grants/domain/snapshot.js';
import { NOW, SETTINGS } from './a-world.js';

/** Few names, so that grants meet; hostile ones, so that a slip in a pattern shows. One is a prefix of another. */
const CATALOGS = ['lake', 'lak', 'tpch', 'a.b', 'a-b', 'x$y', 'grantline', 'system'];
const SCHEMAS = ['eu', 'eu1', 'e.u', 'e(u|x)', 'back\\slash', 'naïve', 'with space', 'jdbc'];
const TABLES = [
  't',
  't1',
  't.1',
  't_1',
  'say "hi"',
  "o'neil",
  '[t]',
  '^t$',
  't*',
  't+',
  't?',
  't{2}',
  '日本',
  '😀',
  '&&',
];
const COLUMNS = ['id', 'name', 'e-mail', 'größe'];
const ENGINES = ['etl-job', 'svc.report', 'svcxreport', 'bot|ana', '.*', 'job$1', 'ci\\cd'];
const PEOPLE = ['ana', 'Ana2', 'an', 'bo', 'bob', 'cy_1', 'Dee', 'eve'];
const EXPRESSIONS = ["region = 'EU'", 'true', "note <> '\\'", 'id IN (1, 2)'];

/** Small random worlds in which groups overlap, grants nest, denies have exceptions and some grants have expired. */
export function anyWorld(): fc.Arbitrary<Snapshot> {
  return fc
    .record({
      users: fc.subarray(PEOPLE, { minLength: 1 }).chain((names) => fc.tuple(...names.map(anyUser))),
      groups: fc.array(fc.subarray([...PEOPLE.keys()].map(idOf)), { maxLength: 4 }),
      grants: fc.array(anyGrant(), { maxLength: 14 }),
      policies: fc.array(anyPolicy(), { maxLength: 8 }),
      impersonation: fc.boolean(),
      sessionProperties: fc.subarray(['query_max_run_time', 'hide_inaccessible_columns']),
      serviceAccounts: fc.subarray(['airflow-1', 'dbt.cloud']),
    })
    .map(({ users, groups, grants, policies, impersonation, sessionProperties, serviceAccounts }) => ({
      users,
      groups: groups.map((members, i) => ({
        id: i + 1,
        name: `group ${i + 1}`,
        members: members.filter((id) => users.some((user) => user.id === id)),
      })),
      grants: grants.map((grant, i) => ({ ...grant, id: i + 1 })),
      policies: policies.map((policy, i) => ({ ...policy, id: i + 1 })),
      settings: {
        ...SETTINGS,
        impersonation,
        sessionProperties,
        serviceAccounts: [SETTINGS.ownAccount, ...serviceAccounts],
        readableCatalogs: ['tpch', 'a.b'],
      },
      at: NOW,
    }));
}

function idOf(position: number): number {
  return position + 1;
}

function anyUser(name: string): fc.Arbitrary<SnapshotUser> {
  return fc
    .boolean()
    .chain((mayBeOff) => (mayBeOff ? fc.boolean() : fc.constant(true)))
    .map((isActive) => ({ id: idOf(PEOPLE.indexOf(name)), name, isActive }));
}

function anyPrincipal(): fc.Arbitrary<Principal> {
  return fc.oneof(
    fc.integer({ min: 1, max: PEOPLE.length }).map((id) => ({ type: 'user', id }) as const),
    fc.integer({ min: 1, max: 4 }).map((id) => ({ type: 'group', id }) as const),
    fc.constantFrom(...ENGINES).map((name) => ({ type: 'engine', name }) as const),
  );
}

function anyResource(): fc.Arbitrary<Resource> {
  return fc
    .tuple(fc.constantFrom(...CATALOGS), fc.constantFrom(...SCHEMAS), fc.constantFrom(...TABLES), fc.nat(5))
    .map(([catalog, schema, table, depth]) =>
      depth === 0 ? { catalog } : depth < 3 ? { catalog, schema } : { catalog, schema, table },
    );
}

function anyColumn(): fc.Arbitrary<ColumnResource> {
  return fc.tuple(anyResource(), fc.constantFrom(...COLUMNS)).map(([resource, column]) => ({ ...resource, column }));
}

function anyPrivileges(): fc.Arbitrary<Privilege[]> {
  return fc.subarray([...PRIVILEGES], { minLength: 1 });
}

function anyGrant(): fc.Arbitrary<Omit<SnapshotGrant, 'id'>> {
  const moment = fc.constantFrom(null, null, null, new Date(NOW.getTime() - 1), NOW, new Date(NOW.getTime() + 1));
  return fc.record({
    principal: anyPrincipal(),
    resource: anyResource(),
    privileges: anyPrivileges(),
    expiresAt: moment,
    revokedAt: fc.constantFrom(null, null, null, null, new Date(NOW.getTime() - 1)),
  });
}

function anyPolicy(): fc.Arbitrary<SnapshotPolicy> {
  const subject = fc.oneof(anyPrincipal(), fc.constant<PolicySubject>({ type: 'everyone' }));
  const base = { id: fc.constant(0), principal: subject, except: fc.array(anyPrincipal(), { maxLength: 2 }) };
  const expression = fc.constantFrom(...EXPRESSIONS);
  return fc.oneof(
    fc.record({ ...base, kind: fc.constant('row_filter' as const), resource: anyResource(), expression }),
    fc.record({ ...base, kind: fc.constant('column_mask' as const), resource: anyColumn(), expression }),
    fc.record({ ...base, kind: fc.constant('hidden_column' as const), resource: anyColumn() }),
    fc.record({ ...base, kind: fc.constant('deny' as const), resource: anyResource(), privileges: anyPrivileges() }),
  );
}
