import fc from 'fast-check';
import { DataSource } from 'typeorm';
import { touchedPart } from '../../src/grants/domain/snapshot-store.js';
import {
  ENTRY_COLUMNS,
  ENTRY_TYPES,
  entryColumnValues,
  principalValues,
} from '../../src/grants/infrastructure/principal-columns.js';
import { PostgresSnapshotStore } from '../../src/grants/infrastructure/postgres-snapshot-store.js';
import { DatabaseSession } from '../../src/platform/database/database-session.js';
import { parseSettings } from '../../src/platform/settings/settings-parser.js';
import { covers, principalIn, nodeOf, type Node } from '../../src/trino-rules/model/node.js';
import type { PolicyPrincipal, Principal } from '../../src/trino-rules/model/principal.js';
import { holderProblem } from '../../src/trino-rules/model/privilege.js';
import type { Snapshot, SnapshotGrant, SnapshotPolicy } from '../../src/trino-rules/model/snapshot.js';
import { runs } from '../support/landing.js';
import { TEST_SECRET } from '../support/service/secrets.js';
import { anySnapshot } from '../support/snapshots/any-snapshot.js';
import { freshDatabase, type TestDatabase, testPostgres } from '../support/database/database.js';
import { NOW } from '../support/snapshots/snapshot-builder.js';

type SnapshotRows = Pick<Snapshot, 'users' | 'groups' | 'grants' | 'policies'>;

const ENTRY = ENTRY_COLUMNS.map((column, i) => `${column} ${ENTRY_TYPES[i] ?? ''}`).join(', ');

/** In the order in which they are filled; without constraints between tables, because a snapshot may name groups that are not there. */
const FILL = `
  SET LOCAL session_replication_role = replica;
  INSERT INTO users (id, username, email, password_hash, role, is_active, created_at) OVERRIDING SYSTEM VALUE
    SELECT id, name, id || '@example.org', '$2b$12$' || repeat('a', 53), 'user', "isActive", now()
      FROM json_to_recordset(:rows->'users') AS row (id int, name text, "isActive" boolean);
  INSERT INTO groups (id, name, created_at) OVERRIDING SYSTEM VALUE
    SELECT id, name, now() FROM json_to_recordset(:rows->'groups') AS row (id int, name text);
  INSERT INTO group_members (group_id, user_id, engine_name, added_at)
    SELECT id, member::text::int, NULL, now()
      FROM json_to_recordset(:rows->'groups') AS row (id int, members json), json_array_elements(members) AS member
    UNION ALL SELECT id, NULL, engine, now()
      FROM json_to_recordset(:rows->'groups') AS row (id int, engines json), json_array_elements_text(engines) AS engine;
  INSERT INTO grants (id, ${ENTRY_COLUMNS.join(', ')}, privileges, expires_at, revoked_at, granted_at) OVERRIDING SYSTEM VALUE
    SELECT id, ${ENTRY_COLUMNS.join(', ')}, privileges, "expiresAt", "revokedAt", now()
      FROM json_to_recordset(:rows->'grants') AS row (id int, ${ENTRY}, privileges text[], "expiresAt" timestamptz, "revokedAt" timestamptz)
    ON CONFLICT DO NOTHING;
  INSERT INTO policies (id, kind, ${ENTRY_COLUMNS.join(', ')}, column_name, expression, privileges, created_at, changed_at)
      OVERRIDING SYSTEM VALUE
    SELECT id, kind, ${ENTRY_COLUMNS.join(', ')}, "column", expression, privileges, now(), now()
      FROM json_to_recordset(:rows->'policies') AS row (id int, kind text, ${ENTRY}, "column" text, expression text, privileges text[]);
  INSERT INTO policy_exceptions (policy_id, user_id, group_id, engine_name)
    SELECT p.id, e.user_id, e.group_id, e.engine_name
      FROM json_to_recordset(:rows->'policies') AS p (id int, "except" json),
           json_to_recordset(p.except) AS e (user_id int, group_id int, engine_name text)
    ON CONFLICT DO NOTHING`;

/** What a narrowed read must answer is said here once more, over the whole snapshot: the two are written apart. */
describe('a part of a snapshot, read by its own statement,', () => {
  let database: TestDatabase;
  let source: DataSource;
  let session: DatabaseSession;
  let store: PostgresSnapshotStore;
  beforeAll(async () => {
    database = await freshDatabase();
    const url = testPostgres().superuserUrl.replace(/\/[^/]+$/, new URL(database.url).pathname);
    source = await new DataSource({ type: 'postgres', url }).initialize();
    // Which privileges a row has is no matter here.
    for (const known of ['privileges_known', 'acting_held_by_engine_principals', 'in_system'])
      await source.query(`ALTER TABLE grants DROP CONSTRAINT grants_${known}`);
    for (const known of ['parts_of_kind', 'in_system'])
      await source.query(`ALTER TABLE policies DROP CONSTRAINT policies_${known}`);
    session = new DatabaseSession(source);
    const { settings } = parseSettings({ AUTH_SECRET_KEY: TEST_SECRET });
    store = new PostgresSnapshotStore(session, settings, { now: () => NOW });
  });
  afterAll(async () => {
    await source.destroy();
    await database.drop();
  });

  /** Fills an empty database, asks, and undoes it. */
  async function filled(snapshot: Snapshot, ask: (everything: SnapshotRows) => Promise<void>): Promise<void> {
    const undone = new Error('undone');
    const work = session.run(async () => {
      const rows = JSON.stringify(tables(snapshot)).replaceAll("'", "''");
      await session.manager.query(FILL.replaceAll(':rows', () => `'${rows}'::json`));
      await ask(written(await store.read()));
      throw undone;
    });
    await expect(work).rejects.toBe(undone);
  }

  it('has what touches the named nodes and groups, and whom that names', async () => {
    await fc.assert(
      fc.asyncProperty(anyRows(), fc.gen(), async (snapshot, draw) => {
        await filled(snapshot, async (everything) => {
          const nodes = drawn(resourcesOf(everything), draw);
          const groups = drawn(everything.groups, draw).map(({ id }) => id);
          const named = [...everything.grants, ...everything.policies].filter((entry) =>
            namedIn(entry).some((subject) => subject.type === 'group' && groups.includes(subject.id)),
          );
          const touched = [...nodes, ...named.map(({ resource }) => resource)];
          const expected = touchedPart({ ...snapshot, ...everything }, touched);
          const read = await store.readTouched({ nodes, groups }, Infinity);
          expect(read && written(read)).toEqual(written(expected));
        });
      }),
      { numRuns: runs(60) },
    );
  });

  it('has what names a principal, one of its groups or everyone, of grants on the path to a node', async () => {
    await fc.assert(
      fc.asyncProperty(anyRows(), fc.gen(), async (snapshot, draw) => {
        await filled(snapshot, async (everything) => {
          for (const principal of principalsOf(everything)) {
            const [node = null] = drawn(resourcesOf(everything).filter(hasCatalog), draw);
            expect(written(await store.readFor(principal, node))).toEqual(partOf(everything, principal, node));
          }
        });
      }),
      { numRuns: runs(40) },
    );
  });
});

function partOf(everything: SnapshotRows, principal: Principal, node: Node | null): SnapshotRows {
  const isOwn = principal.type === 'user' ? (id: number) => id === principal.id : () => false;
  const isSelf = principal.type === 'engine' ? (name: string) => name === principal.name : () => false;
  const all = everything.groups.map((group) => ({
    ...group,
    members: group.members.filter(isOwn),
    engines: group.engines.filter(isSelf),
  }));
  const groups = all.filter(
    ({ id, members, engines }) =>
      members.length + engines.length > 0 || (principal.type === 'group' && principal.id === id),
  );
  const isNamed = (subject: PolicyPrincipal): boolean => {
    if (subject.type === 'everyone') return true;
    if (subject.type === 'group' && groups.some(({ id }) => id === subject.id)) return true;
    return JSON.stringify(subject) === JSON.stringify(principal);
  };
  const isOnPath = (resource: Node): boolean => node === null || !hasCatalog(resource) || covers(resource, node);
  const grants = everything.grants.filter(
    (grant) => isNamed(grant.principal) && (isOnPath(grant.resource) || grant.principal.type === 'engine'),
  );
  const policies = everything.policies.filter((policy) => isNamed(policy.principal));
  // Their names are in answers.
  const targets = [...grants, ...policies].flatMap(({ resource }) => principalIn(resource) ?? []);
  const isTarget = (type: 'user' | 'group') => (id: number) =>
    targets.some((target) => target.type === type && target.id === id);
  return {
    users: everything.users.filter(({ id }) => isOwn(id) || isTarget('user')(id)),
    groups: all.filter((group) => groups.includes(group) || isTarget('group')(group.id)),
    grants,
    policies,
  };
}

function principalsOf({ users, groups, grants }: SnapshotRows): Principal[] {
  const engines = grants.flatMap(({ principal }) => (principal.type === 'engine' ? [principal] : []));
  return [
    ...users.map(({ id }) => ({ type: 'user' as const, id })),
    ...groups.map(({ id }) => ({ type: 'group' as const, id })),
    ...engines,
    { type: 'engine', name: 'nobody' },
  ];
}

/** A snapshot with rows of every kind of node and principal that the tables take. */
function anyRows(): fc.Arbitrary<Snapshot> {
  return fc.tuple(anySnapshot(), fc.gen()).map(([snapshot, draw]) => {
    const principal = () =>
      draw(() => fc.constantFrom<PolicyPrincipal>(...principalsOf(snapshot), { type: 'everyone' }));
    const other = (node: Node): Node => {
      const { catalog = 'a', schema = 'b' } = node;
      return draw(() =>
        fc.constantFrom({}, { catalog, schema, routine: 'r' }, { engine: true } as const, { as: principal() }),
      );
    };
    const turned = <T extends { resource: Node }>(row: T): T => ({
      ...row,
      resource: draw(() => fc.constantFrom(row.resource, other(row.resource))),
    });
    // A group that a node names is never deleted.
    const isThere = ({ resource }: { resource: Node }): boolean => {
      const named = principalIn(resource);
      return named?.type !== 'group' || snapshot.groups.some(({ id }) => id === named.id);
    };
    return {
      ...snapshot,
      // The store knows no settings: of a principal's grants it takes the first, also one in a catalog that is closed since.
      settings: { ...snapshot.settings, metadataCatalog: null },
      grants: snapshot.grants.filter(isThere).map((grant) => {
        const isForAll = draw(() => fc.constantFrom(true, false, false));
        const everyone = { type: 'everyone' } as const;
        const holds = isForAll && holderProblem(grant.privileges, everyone) === null;
        return { ...turned(grant), ...(holds && { principal: everyone }) };
      }),
      policies: snapshot.policies.filter(isThere).map((policy) => (policy.kind === 'deny' ? turned(policy) : policy)),
    };
  });
}

function namedIn({ principal, resource, ...rest }: SnapshotGrant | SnapshotPolicy): PolicyPrincipal[] {
  return [principal, principalIn(resource) ?? [], 'except' in rest ? rest.except : []].flat();
}

function hasCatalog({ catalog }: Node): boolean {
  return catalog !== undefined;
}

function resourcesOf({ grants, policies }: SnapshotRows): Node[] {
  const named = [...grants, ...policies].map(({ resource }) => nodeOf(resource));
  return [...named, { catalog: 'a', schema: 'nowhere', table: 'nothing' }];
}

/** None, one or two of them. */
function drawn<T>(from: readonly T[], draw: fc.GeneratorValue): T[] {
  return draw(() => fc.subarray([...from], { maxLength: Math.min(2, from.length) }));
}

function written({ users, groups, grants, policies }: SnapshotRows): SnapshotRows {
  return { users, groups, grants, policies };
}

function tables({ users, groups, grants, policies }: Snapshot): object {
  const columns = (subject: PolicyPrincipal, node: Node) => {
    const values = entryColumnValues(subject, node);
    return Object.fromEntries(ENTRY_COLUMNS.map((column, i) => [column, values[i]]));
  };
  const exception = (principal: Principal) => {
    const [user_id, group_id, engine_name] = principalValues(principal);
    return { user_id, group_id, engine_name };
  };
  return {
    users,
    groups,
    grants: grants.map(({ principal, resource, ...grant }) => ({ ...grant, ...columns(principal, resource) })),
    policies: policies.map(({ principal, resource, except, ...policy }) => ({
      ...policy,
      ...('column' in resource && { column: resource.column }),
      ...columns(principal, resource),
      except: except.map(exception),
    })),
  };
}
