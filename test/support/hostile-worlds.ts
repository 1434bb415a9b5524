import fc from 'fast-check';
import type { PolicySubject, Principal } from '../../src/grants/domain/principal.js';
import { PRIVILEGES } from '../../src/grants/domain/privilege.js';
import type { Resource } from '../../src/grants/domain/resource.js';
import type { Snapshot, SnapshotGrant, SnapshotPolicy, SnapshotSettings } from '../../src/grants/domain/snapshot.js';

/** Names that break patterns, quoting, factoring by prefix or sorting; few enough to meet each other often. */
const NODE_NAMES = [
  'a',
  'ab',
  'abc',
  'a.b',
  'a-b',
  'a b',
  'axb',
  '1',
  '10',
  '11',
  '12',
  '20',
  'x$',
  'x$1',
  'b\\c',
  '[q]',
  'q^',
  '(p)',
  'p|q',
  'p*',
  'p',
  '.*',
  'x+',
  'a?',
  '{u}',
  "o'c",
  'a"b',
  'été',
  'ét',
  '日本',
  '日',
  '😀',
  '😁',
  '#',
  '&&',
  'sales',
  'sales_eu',
  'sales_us',
];
const PEOPLE = [
  'anna',
  'Anne',
  'ann',
  'anna.m',
  'annaxm',
  'user_1',
  'user_10',
  'user_11',
  'user_2',
  'user_20',
  'x$y',
  'b\\c',
  'k^',
  "o'c",
  'Zoë',
  '😀',
  '日本',
  'a|b',
  '.*',
  'a b',
];
const ENGINES = ['etl', 'etl-2', 'service-account-bi'];
const COLUMNS = ['ssn', 's', 'iban', 'été'];
const EXPRESSIONS = ["region = 'EU'", 'true', 'NULL', "x IN ('a', 'b')", '"y" > 1'];
const AT = new Date('2026-11-20T00:00:00.000Z');

/** Small worlds in which everything overlaps: people in many groups, nested nodes, denies with exceptions, expiries. */
export function hostileWorld(): fc.Arbitrary<Snapshot> {
  return fc
    .record({
      people: fc.uniqueArray(fc.constantFrom(...PEOPLE), { minLength: 1, maxLength: 8 }),
      nodes: fc.uniqueArray(fc.constantFrom(...NODE_NAMES), { minLength: 3, maxLength: 6 }),
      groups: fc.integer({ min: 0, max: 4 }),
    })
    .chain(({ people, nodes, groups }) => {
      const principal = aPrincipal(people.length, groups);
      const resource = aResource(nodes);
      const grants = fc.array(aGrant(principal, resource), { maxLength: 14 });
      const policies = fc.array(aPolicy(principal, resource), { maxLength: 9 });
      return fc.record({
        users: fc.tuple(
          ...people.map((name, i) => fc.record({ id: fc.constant(i + 1), name: fc.constant(name), isActive: usually })),
        ),
        groups: fc.tuple(
          ...Array.from({ length: groups }, (_, i) =>
            fc.record({
              id: fc.constant(i + 1),
              name: fc.constant(`group ${i + 1}`),
              members: fc.subarray(people.map((_, person) => person + 1)),
            }),
          ),
        ),
        grants: grants.map((rows) => rows.map((row, i): SnapshotGrant => ({ ...row, id: i + 1 }))),
        policies: policies.map((rows) => rows.map((row, i): SnapshotPolicy => ({ ...row, id: i + 1 }))),
        settings: someSettings(nodes),
        at: fc.constant(AT),
      });
    });
}

const usually = fc.integer({ min: 0, max: 9 }).map((n) => n > 0);

function aPrincipal(people: number, groups: number): fc.Arbitrary<Principal> {
  const user = fc.integer({ min: 1, max: people }).map((id): Principal => ({ type: 'user', id }));
  const engine = fc.constantFrom(...ENGINES).map((name): Principal => ({ type: 'engine', name }));
  const group = fc.integer({ min: 1, max: Math.max(1, groups) }).map((id): Principal => ({ type: 'group', id }));
  return fc.oneof(
    { weight: 3, arbitrary: user },
    { weight: groups === 0 ? 0 : 4, arbitrary: group },
    { weight: 1, arbitrary: engine },
  );
}

function aResource(names: readonly string[]): fc.Arbitrary<Resource> {
  // The first names only, so that grants meet on the same nodes.
  const catalog = fc.constantFrom(...names.slice(0, 2));
  const name = fc.constantFrom(...names);
  return fc.oneof(fc.record({ catalog }), fc.record({ catalog, schema: name }), {
    weight: 3,
    arbitrary: fc.record({ catalog, schema: name, table: name }),
  });
}

function aGrant(
  principal: fc.Arbitrary<Principal>,
  resource: fc.Arbitrary<Resource>,
): fc.Arbitrary<Omit<SnapshotGrant, 'id'>> {
  const moment = fc.constantFrom(-1, 0, 1).map((millis) => new Date(AT.getTime() + millis));
  return fc.record({
    principal,
    resource,
    privileges: fc.subarray([...PRIVILEGES], { minLength: 1 }),
    expiresAt: fc.option(moment, { freq: 4 }),
    revokedAt: fc.option(fc.constant(AT), { freq: 10 }),
  });
}

function aPolicy(principal: fc.Arbitrary<Principal>, resource: fc.Arbitrary<Resource>): fc.Arbitrary<SnapshotPolicy> {
  const subject = fc.oneof(principal, fc.constant<PolicySubject>({ type: 'everyone' }));
  const base = { id: fc.constant(0), principal: subject, except: fc.array(principal, { maxLength: 2 }) };
  const column = fc.tuple(resource, fc.constantFrom(...COLUMNS)).map(([node, column]) => ({ ...node, column }));
  const expression = fc.constantFrom(...EXPRESSIONS);
  return fc.oneof(
    fc.record({ ...base, kind: fc.constant('row_filter' as const), resource, expression }),
    {
      weight: 2,
      arbitrary: fc.record({ ...base, kind: fc.constant('column_mask' as const), resource: column, expression }),
    },
    fc.record({ ...base, kind: fc.constant('hidden_column' as const), resource: column }),
    fc.record({
      ...base,
      kind: fc.constant('deny' as const),
      resource,
      privileges: fc.subarray([...PRIVILEGES], { minLength: 1 }),
    }),
  );
}

function someSettings(nodes: readonly string[]): fc.Arbitrary<SnapshotSettings> {
  const catalogs = fc.subarray([...nodes.slice(0, 3)], { maxLength: 2 });
  return fc.record({
    ownAccount: fc.constant('service-account-grantline'),
    serviceAccounts: fc.constantFrom(
      ['service-account-grantline'],
      ['service-account-grantline', 'service-account-x.y'],
    ),
    writableCatalogs: catalogs,
    readableCatalogs: catalogs,
    metadataCatalog: fc.constantFrom(null, 'grantline', ...nodes.slice(0, 1)),
    impersonation: usually,
    sessionProperties: fc.constantFrom([], ['query_max_run_time', 'join_distribution_type']),
  });
}
