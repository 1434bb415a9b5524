import fc from 'fast-check';
import { DataSource } from 'typeorm';
import type { WrittenSnapshot } from '../../src/grants/domain/snapshot-store.js';
import { touchedPart } from '../../src/grants/domain/touched-part.js';
import { PostgresSnapshotStore } from '../../src/grants/infrastructure/postgres-snapshot-store.js';
import { DatabaseSession } from '../../src/platform/infrastructure/database-session.js';
import { covers, nodeOf, type Node } from '../../src/trino-rules/model/node.js';
import type { PolicyPrincipal, Principal } from '../../src/trino-rules/model/principal.js';
import type { Snapshot } from '../../src/trino-rules/model/snapshot.js';
import { anySnapshot } from '../support/snapshots/any-snapshot.js';
import { freshDatabase, type TestDatabase, testPostgres } from '../support/database/database.js';
import { NOW } from '../support/snapshots/snapshot-builder.js';

/** In the order in which they are filled; without constraints between tables, because a snapshot may name groups that are not there. */
const FILL = `
  SET LOCAL session_replication_role = replica;
  INSERT INTO users (id, username, email, password_hash, role, is_active, created_at) OVERRIDING SYSTEM VALUE
    SELECT id, name, id || '@example.org', '$2b$12$' || repeat('a', 53), 'user', "isActive", now()
      FROM json_to_recordset(:rows->'users') AS row (id int, name text, "isActive" boolean);
  INSERT INTO groups (id, name, created_at) OVERRIDING SYSTEM VALUE
    SELECT id, name, now() FROM json_to_recordset(:rows->'groups') AS row (id int, name text);
  INSERT INTO group_members (group_id, user_id, added_at)
    SELECT id, member::text::int, now()
      FROM json_to_recordset(:rows->'groups') AS row (id int, members json), json_array_elements(members) AS member;
  INSERT INTO grants (id, user_id, group_id, engine_name, catalog_name, schema_name, table_name, privileges, expires_at, revoked_at, granted_at)
      OVERRIDING SYSTEM VALUE
    SELECT id, user_id, group_id, engine_name, catalog, schema, "table", privileges, "expiresAt", "revokedAt", now()
      FROM json_to_recordset(:rows->'grants') AS row (id int, user_id int, group_id int, engine_name text, catalog text, schema text,
        "table" text, privileges text[], "expiresAt" timestamptz, "revokedAt" timestamptz)
    ON CONFLICT DO NOTHING;
  INSERT INTO policies (id, kind, is_for_everyone, user_id, group_id, engine_name, catalog_name, schema_name, table_name, column_name,
      expression, privileges, created_at, changed_at) OVERRIDING SYSTEM VALUE
    SELECT id, kind, num_nonnulls(user_id, group_id, engine_name) = 0, user_id, group_id, engine_name, catalog, schema, "table", "column",
           expression, privileges, now(), now()
      FROM json_to_recordset(:rows->'policies') AS row (id int, kind text, user_id int, group_id int, engine_name text, catalog text,
        schema text, "table" text, "column" text, expression text, privileges text[]);
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
    session = new DatabaseSession(source);
    store = new PostgresSnapshotStore(session);
  });
  afterAll(async () => {
    await source.destroy();
    await database.drop();
  });

  /** Fills an empty database, asks, and undoes it. */
  async function filled(snapshot: Snapshot, ask: (everything: WrittenSnapshot) => Promise<void>): Promise<void> {
    const undone = new Error('undone');
    const work = session.run(async () => {
      const rows = JSON.stringify(tables(snapshot)).replaceAll("'", "''");
      await session.manager.query(FILL.replaceAll(':rows', () => `'${rows}'::json`));
      await ask(await store.read(NOW));
      throw undone;
    });
    await expect(work).rejects.toBe(undone);
  }

  it('has what touches the named nodes and groups, and whom that names', async () => {
    await fc.assert(
      fc.asyncProperty(anySnapshot(), fc.gen(), async (snapshot, draw) => {
        await filled(snapshot, async (everything) => {
          const nodes = drawn(resourcesOf(everything), draw).map(({ catalog, schema }) => nodeOf({ catalog, schema }));
          const groups = drawn(everything.groups, draw).map(({ id }) => id);
          const named = [...everything.grants, ...everything.policies].filter(({ principal, ...rest }) =>
            [principal, ...('except' in rest ? rest.except : [])].some(
              (subject) => subject.type === 'group' && groups.includes(subject.id),
            ),
          );
          const touched = [...nodes, ...named.map(({ resource }) => resource)];
          const expected = touchedPart({ ...snapshot, ...everything }, touched);
          expect(await store.readTouched(NOW, { nodes, groups }, Infinity)).toEqual(written(expected));
        });
      }),
      { numRuns: 60 },
    );
  });

  it('has what names a principal, one of its groups or everyone, on the path to a node', async () => {
    await fc.assert(
      fc.asyncProperty(anySnapshot(), fc.gen(), async (snapshot, draw) => {
        await filled(snapshot, async (everything) => {
          for (const principal of principalsOf(everything)) {
            const [node = null] = drawn(resourcesOf(everything), draw);
            expect(await store.readFor(NOW, principal, node)).toEqual(partOf(everything, principal, node));
          }
        });
      }),
      { numRuns: 40 },
    );
  });
});

function partOf(everything: WrittenSnapshot, principal: Principal, node: Node | null): WrittenSnapshot {
  const isOwn = principal.type === 'user' ? (id: number) => id === principal.id : () => false;
  const groups = everything.groups
    .map((group) => ({ ...group, members: group.members.filter(isOwn) }))
    .filter(({ id, members }) => members.length > 0 || (principal.type === 'group' && principal.id === id));
  const isNamed = (subject: PolicyPrincipal): boolean => {
    if (subject.type === 'everyone') return true;
    if (subject.type === 'group' && groups.some(({ id }) => id === subject.id)) return true;
    return JSON.stringify(subject) === JSON.stringify(principal);
  };
  const isOnPath = (resource: Node): boolean => node === null || covers(resource, node);
  const isPart = (entry: { principal: PolicyPrincipal; resource: Node }): boolean =>
    isNamed(entry.principal) && isOnPath(entry.resource);
  return {
    users: everything.users.filter(({ id }) => isOwn(id)),
    groups,
    grants: everything.grants.filter(
      (grant) => isPart(grant) || (grant.principal.type === 'engine' && isNamed(grant.principal)),
    ),
    policies: everything.policies.filter(isPart),
  };
}

function principalsOf({ users, groups, grants }: WrittenSnapshot): Principal[] {
  const engines = grants.flatMap(({ principal }) => (principal.type === 'engine' ? [principal] : []));
  return [
    ...users.map(({ id }) => ({ type: 'user' as const, id })),
    ...groups.map(({ id }) => ({ type: 'group' as const, id })),
    ...engines,
    { type: 'engine', name: 'nobody' },
  ];
}

function resourcesOf({ grants, policies }: WrittenSnapshot): Node[] {
  const named = [...grants, ...policies].map(({ resource }) => nodeOf(resource));
  return [...named, { catalog: 'a', schema: 'nowhere', table: 'nothing' }];
}

/** None, one or two of them. */
function drawn<T>(from: readonly T[], draw: fc.GeneratorValue): T[] {
  return draw(() => fc.subarray([...from], { maxLength: Math.min(2, from.length) }));
}

function written({ users, groups, grants, policies }: WrittenSnapshot): WrittenSnapshot {
  return { users, groups, grants, policies };
}

function tables({ users, groups, grants, policies }: Snapshot): object {
  const columns = (subject: PolicyPrincipal) => ({
    user_id: subject.type === 'user' ? subject.id : null,
    group_id: subject.type === 'group' ? subject.id : null,
    engine_name: subject.type === 'engine' ? subject.name : null,
  });
  return {
    users,
    groups,
    grants: grants.map(({ principal, resource, ...grant }) => ({ ...grant, ...resource, ...columns(principal) })),
    policies: policies.map(({ principal, resource, except, ...policy }) => ({
      ...policy,
      ...resource,
      ...columns(principal),
      except: except.map(columns),
    })),
  };
}
