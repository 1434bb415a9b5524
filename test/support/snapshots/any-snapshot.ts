import fc from 'fast-check';
import type { PolicyPrincipal, Principal } from '../../../src/trino-rules/model/principal.js';
import {
  holderProblem,
  isDataPrivilege,
  type Privilege,
  privilegesOn,
} from '../../../src/trino-rules/model/privilege.js';
import { KILL_QUERY, kindOf, nodeOf, SYSTEM, type Node } from '../../../src/trino-rules/model/node.js';
import { SYSTEM_SCHEMAS } from '../../../src/trino-rules/model/resource.js';
import type {
  Snapshot,
  SnapshotGrant,
  SnapshotGroup,
  SnapshotPolicy,
  SnapshotSettings,
  SnapshotUser,
} from '../../../src/trino-rules/model/snapshot.js';
import { NOW, SETTINGS } from './snapshot-builder.js';
import { VOCABULARY, type Vocabulary } from './vocabulary.js';

/** What one snapshot is made of: few names each, so that they overlap. */
interface Parts extends Pick<Vocabulary, 'engines' | 'columns'> {
  people: number;
  groups: number;
  names: readonly string[];
  expressions: readonly string[];
  /** The kinds of its policies. */
  kinds: readonly SnapshotPolicy['kind'][];
}

const EVERY_KIND: readonly SnapshotPolicy['kind'][] = ['row_filter', 'column_mask', 'hidden_column', 'deny'];

/** Small random snapshots in which groups overlap, grants nest, some to everyone, denies have exceptions and some grants have expired. */
export function anySnapshot(kinds = EVERY_KIND, vocabulary = VOCABULARY): fc.Arbitrary<Snapshot> {
  const { engines, columns } = vocabulary;
  return fc
    .record({
      people: fc.uniqueArray(fc.constantFrom(...vocabulary.people), { minLength: 1, maxLength: 8 }),
      names: fc.uniqueArray(fc.constantFrom(...vocabulary.nodes), { minLength: 2, maxLength: 6 }),
      groups: fc.nat(4),
      expressions: fc
        .constantFrom(...vocabulary.expressions)
        .chain((family) => fc.uniqueArray(fc.constantFrom(...family), { minLength: 2, maxLength: 4 })),
    })
    .chain(({ people, names, groups, expressions }) => {
      const stuff = { people: people.length, names, groups, expressions, kinds, engines, columns };
      return fc.record({
        users: fc.tuple(...people.map((name, i) => anyUser(i + 1, name))),
        groups: fc.tuple(...Array.from({ length: groups }, (_, i) => anyGroup(i + 1, stuff))),
        grants: numbered(fc.array(anyGrant(stuff), { maxLength: 16, size: 'max' })),
        policies: numbered(fc.array(anyPolicy(stuff), { maxLength: 10, size: 'max' })),
        settings: anySettings(stuff),
        at: fc.constant(NOW),
      });
    });
}

/** The same without what no import says yet: rights beside data, anything on everything, and in `system`. */
export function anySnapshotOfData(): fc.Arbitrary<Snapshot> {
  const isLeft = ({ privileges, resource }: { privileges: readonly Privilege[]; resource: Node }): boolean =>
    privileges.length > 0 && kindOf(resource) !== 'everything' && resource.catalog !== SYSTEM;
  const left = <T extends { privileges: readonly Privilege[] }>(row: T): T => ({
    ...row,
    privileges: row.privileges.filter(isDataPrivilege),
  });
  return anySnapshot().map(({ grants, policies, ...rest }) => ({
    ...rest,
    grants: grants.map(left).filter(isLeft),
    policies: policies
      .map((policy) => (policy.kind === 'deny' ? left(policy) : policy))
      .filter((policy) => (policy.kind === 'deny' ? isLeft(policy) : kindOf(policy.resource) !== 'everything')),
  }));
}

function anyUser(id: number, name: string): fc.Arbitrary<SnapshotUser> {
  return mostly.map((isActive) => ({ id, name, isActive }));
}

function anyGroup(id: number, { people, engines }: Parts): fc.Arbitrary<SnapshotGroup> {
  const everyUser = Array.from({ length: people }, (_, i) => i + 1);
  const inGroup = mostly.chain((isOnlyPeople) => fc.subarray([...engines], isOnlyPeople ? { maxLength: 0 } : {}));
  return fc
    .record({ members: fc.subarray(everyUser), engines: inGroup })
    .map((members) => ({ id, name: `group ${id}`, ...members }));
}

function anyPrincipal({ people, groups, engines }: Parts): fc.Arbitrary<Principal> {
  const user = fc.integer({ min: 1, max: people }).map((id) => ({ type: 'user', id }) as const);
  // A group that does not exist has no members.
  const group = fc.integer({ min: 1, max: groups + 1 }).map((id) => ({ type: 'group', id }) as const);
  const engine = fc.constantFrom(...engines).map((name) => ({ type: 'engine', name }) as const);
  return fc.oneof({ weight: 3, arbitrary: group }, { weight: 3, arbitrary: user }, engine);
}

function anySubject(stuff: Parts): fc.Arbitrary<PolicyPrincipal> {
  return fc.oneof({ weight: 3, arbitrary: anyPrincipal(stuff) }, fc.constant(EVERYONE));
}

function anyResource({ names }: Parts): fc.Arbitrary<Node> {
  const closed = fc.constant('grantline');
  const open = names.slice(0, 2).filter((name) => name !== SYSTEM);
  const catalog = fc.oneof({ weight: 20, arbitrary: fc.constantFrom(...open, 'lake') }, closed);
  // The first are named often, so that grants and policies overlap.
  const name = fc.oneof(fc.constantFrom(...names.slice(0, 2)), fc.constantFrom(...names));
  return fc.oneof(
    fc.constant<Node>({}),
    fc.record({ catalog }),
    { weight: 2, arbitrary: fc.record({ catalog, schema: name }) },
    { weight: 4, arbitrary: fc.record({ catalog, schema: name, table: name }) },
    fc.record({ catalog, schema: name, table: companion(name) }),
  );
}

/** `t$files`, `t$u$v`: the name of what the engine may serve beside a table. */
function companion(name: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const suffix = fc.oneof(fc.constant('files'), name);
  return fc
    .tuple(name, fc.array(suffix, { minLength: 1, maxLength: 2 }))
    .map(([table, more]) => [table, ...more].join('$'));
}

/** On which grants and denies can stand, and no other policy. */
function nonDataNode(stuff: Parts): fc.Arbitrary<Node> {
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant<Node>({ engine: true }) },
    fc.constant<Node>({ catalog: SYSTEM }),
    fc.constantFrom(...SYSTEM_SCHEMAS).map((schema): Node => ({ catalog: SYSTEM, schema })),
    fc.constantFrom(...SYSTEM_SCHEMAS).map((schema): Node => ({ catalog: SYSTEM, schema, table: 'nodes' })),
    fc.constant<Node>(KILL_QUERY),
    anySubject(stuff).map((as): Node => ({ as })),
    { weight: 2, arbitrary: anySubject(stuff).map((queries): Node => ({ queries })) },
  );
}

/** A table's, a routine beside it, or what is beside people's data. */
function anyNode(stuff: Parts): fc.Arbitrary<Node> {
  const inCatalog = fc
    .tuple(anyResource(stuff), fc.nat(5))
    .map(([{ catalog, schema, table }, chance]) =>
      nodeOf(chance === 0 ? { catalog, schema, routine: table } : { catalog, schema, table }),
    );
  return fc.oneof({ weight: 7, arbitrary: inCatalog }, nonDataNode(stuff));
}

function privilegesAt(node: Node, maxLength = Infinity): fc.Arbitrary<Privilege[]> {
  const open = privilegesOn(node);
  return fc.subarray(open, { minLength: 1, maxLength: Math.min(open.length, maxLength) });
}

function anyGrant(stuff: Parts): fc.Arbitrary<SnapshotGrant> {
  const moment = fc.constantFrom(-1, 0, 1).map((millis) => new Date(NOW.getTime() + millis));
  const place = anyNode(stuff).chain((resource) =>
    fc
      .record({ principal: anySubject(stuff), privileges: privilegesAt(resource) })
      .filter(({ principal, privileges }) => holderProblem(privileges, principal) === null)
      .map((row) => ({ ...row, resource })),
  );
  const row = fc.record({
    expiresAt: fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, moment),
    revokedAt: fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, fc.constant(new Date(NOW.getTime() - 1))),
  });
  return fc.tuple(place, row).map(([given, when]) => ({ id: 0, ...given, ...when }));
}

function anyPolicy(stuff: Parts): fc.Arbitrary<SnapshotPolicy> {
  const base = {
    id: fc.constant(0),
    principal: anySubject(stuff),
    except: fc.array(anyPrincipal(stuff), { maxLength: 2 }),
  };
  const resource = anyResource(stuff);
  const column = fc.tuple(resource, fc.constantFrom(...stuff.columns)).map(([node, column]) => ({ ...node, column }));
  const expression = fc.constantFrom(...stuff.expressions);
  const byKind: Record<SnapshotPolicy['kind'], fc.Arbitrary<SnapshotPolicy>> = {
    row_filter: fc.record({ ...base, kind: fc.constant('row_filter' as const), resource, expression }),
    column_mask: fc.record({ ...base, kind: fc.constant('column_mask' as const), resource: column, expression }),
    hidden_column: fc.record({ ...base, kind: fc.constant('hidden_column' as const), resource: column }),
    deny: anyNode(stuff).chain((node) =>
      fc.record({
        ...base,
        kind: fc.constant('deny' as const),
        resource: fc.constant(node),
        privileges: privilegesAt(node, 3),
      }),
    ),
  };
  return fc.oneof(...stuff.kinds.map((kind) => byKind[kind]));
}

function anySettings({ names }: Parts): fc.Arbitrary<SnapshotSettings> {
  const catalogs = fc.subarray([...names.slice(1, 3), 'lake'], { maxLength: 2 });
  return fc.record({
    ownAccount: fc.constant(SETTINGS.ownAccount),
    serviceAccounts: fc.subarray(['airflow-1', 'dbt.cloud']).map((others) => [SETTINGS.ownAccount, ...others]),
    writableCatalogs: catalogs,
    readableCatalogs: catalogs,
    metadataCatalog: fc.constantFrom(null, 'grantline', 'grantline', ...names.slice(0, 1)),
    impersonation: mostly,
    sessionProperties: fc.subarray(['query_max_run_time', 'hide_inaccessible_columns']),
    readersMaintain: mostly.map((isClosed) => !isClosed),
    externalTableCatalogs: fc.subarray([...names], { maxLength: 2 }),
    rawColumnCatalogs: fc.subarray([...names], { maxLength: 2 }),
  });
}

const EVERYONE: PolicyPrincipal = { type: 'everyone' };

const mostly = fc.oneof({ weight: 7, arbitrary: fc.constant(true) }, fc.constant(false));

function numbered<T extends { id: number }>(rows: fc.Arbitrary<T[]>): fc.Arbitrary<T[]> {
  return rows.map((list) => list.map((row, i) => ({ ...row, id: i + 1 })));
}
