import { Injectable } from '@nestjs/common';
import { DatabaseSession } from '../../platform/infrastructure/database-session.js';
import type { Principal } from '../../trino-rules/model/principal.js';
import type { Privilege } from '../../trino-rules/model/privilege.js';
import type { Node } from '../../trino-rules/model/node.js';
import type { SnapshotGrant, SnapshotPolicy } from '../../trino-rules/model/snapshot.js';
import type { Growth } from '../domain/admission-ports.js';
import { SnapshotStore, type Touched, type WrittenSnapshot } from '../domain/snapshot-store.js';
import { type PolicyRuleColumns, ruleOf } from './postgres-policy-store.js';
import { type PrincipalIds, type ResourceColumns, resourceOf, unnamedPrincipalOf } from './principal-columns.js';

interface Lists {
  users: { id: number; username: string; is_active: boolean }[];
  groups: { id: number; name: string; members: number[] }[];
  grants: (PrincipalIds & ResourceColumns & { id: number; privileges: Privilege[]; expires_at: string | null })[];
  policies: (PrincipalIds & PolicyRuleColumns & { id: number; except: PrincipalIds[] })[];
}

const LIVE_GRANT = 'revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1)';

const list = (select: string) => `(SELECT coalesce(json_agg(row), '[]') FROM (${select}) AS row)`;

/** The rows of a snapshot, read from the given tables or subqueries. */
const snapshotOf = (from: Record<'users' | 'groups' | 'members' | 'grants' | 'policies', string>) => `SELECT
  ${list(`SELECT id, username, is_active FROM ${from.users} ORDER BY id`)} AS users,
  ${list(`SELECT g.id, g.name, array(SELECT user_id FROM ${from.members} m WHERE m.group_id = g.id ORDER BY user_id) AS members
            FROM ${from.groups} g WHERE g.deleted_at IS NULL ORDER BY g.id`)} AS groups,
  ${list(`SELECT id, user_id, group_id, engine_name, catalog_name, schema_name, table_name, privileges, expires_at
            FROM ${from.grants} WHERE ${LIVE_GRANT} ORDER BY id`)} AS grants,
  ${list(`SELECT p.id, p.kind, p.user_id, p.group_id, p.engine_name, p.catalog_name, p.schema_name, p.table_name, p.column_name,
                 p.expression, p.privileges, ${list(`SELECT e.user_id, e.group_id, e.engine_name FROM policy_exceptions e
                   WHERE e.policy_id = p.id ORDER BY e.user_id, e.group_id, e.engine_name`)} AS except
            FROM ${from.policies} p WHERE p.removed_at IS NULL ORDER BY p.id`)} AS policies`;

/** One statement: at any isolation level, a PostgreSQL statement sees one state of the database. */
const EVERYTHING = snapshotOf({
  users: 'users',
  groups: 'groups',
  members: 'group_members',
  grants: 'grants',
  policies: 'policies',
});

/** As `touchedPart` of the domain; a spec compares them over random snapshots. Three lookups in hashed lists instead of one join with an OR, which compares every row with every node. */
const onTouchedNode = (row: string) => `(
  (${row}.catalog_name, ${row}.schema_name) IN (SELECT catalog_name, schema_name FROM touched WHERE schema_name IS NOT NULL)
  OR ${row}.catalog_name IN (SELECT catalog_name FROM touched WHERE schema_name IS NULL)
  OR (${row}.schema_name IS NULL AND ${row}.catalog_name IN (SELECT catalog_name FROM touched)))`;

/** $2 and $3: catalogs and schemas of nodes; $4: groups. */
const TOUCHED = `WITH
  touched AS (
    SELECT * FROM unnest($2::text[], $3::text[]) AS node (catalog_name, schema_name)
    UNION SELECT catalog_name, schema_name FROM grants WHERE group_id = ANY ($4) AND ${LIVE_GRANT}
    UNION SELECT catalog_name, schema_name FROM policies p
           WHERE p.removed_at IS NULL AND (p.group_id = ANY ($4)
             OR EXISTS (SELECT FROM policy_exceptions e WHERE e.policy_id = p.id AND e.group_id = ANY ($4)))),
  touched_grants AS (SELECT * FROM grants g WHERE ${LIVE_GRANT} AND ${onTouchedNode('g')}),
  touched_policies AS (SELECT * FROM policies p WHERE p.removed_at IS NULL AND ${onTouchedNode('p')}),
  named AS (
    SELECT user_id, group_id FROM touched_grants
    UNION SELECT user_id, group_id FROM touched_policies
    UNION SELECT e.user_id, e.group_id FROM policy_exceptions e JOIN touched_policies p ON e.policy_id = p.id),
  named_groups AS (SELECT * FROM groups WHERE id IN (SELECT group_id FROM named)),
  named_users AS (
    SELECT * FROM users WHERE id IN (
      SELECT user_id FROM named
      UNION SELECT user_id FROM group_members WHERE group_id IN (SELECT id FROM named_groups)))`;
const TOUCHED_ROWS = `${TOUCHED} SELECT count(*)::int AS count FROM touched_grants`;
const TOUCHED_SNAPSHOT = `${TOUCHED} ${snapshotOf({
  users: 'named_users',
  groups: 'named_groups',
  members: 'group_members',
  grants: 'touched_grants',
  policies: 'touched_policies',
})}`;

/** $2, $3 and $4: a user, a group or an engine principal; the others are null. $5, $6 and $7: a node; without a catalog, any. */
const NAMED = `(user_id = $2 OR group_id = $3 OR engine_name = $4 OR group_id IN (SELECT group_id FROM own_memberships))`;
const ON_PATH = `($5::text IS NULL OR (catalog_name = $5 AND (schema_name IS NULL OR schema_name = $6)
  AND (table_name IS NULL OR table_name = $7)))`;
const OF_PRINCIPAL = `WITH
  own_memberships AS (SELECT group_id, user_id FROM group_members WHERE user_id = $2),
  own_users AS (SELECT * FROM users WHERE id = $2),
  own_groups AS (SELECT * FROM groups WHERE id = $3 OR id IN (SELECT group_id FROM own_memberships)),
  own_grants AS (SELECT * FROM grants WHERE ${NAMED} AND (${ON_PATH} OR engine_name = $4)),
  own_policies AS (SELECT * FROM policies WHERE (is_for_everyone OR ${NAMED}) AND ${ON_PATH})
  ${snapshotOf({
    users: 'own_users',
    groups: 'own_groups',
    members: 'own_memberships',
    grants: 'own_grants',
    policies: 'own_policies',
  })}`;

/**
 * An upper estimate: a rule has some 400 bytes besides its names. Names are counted several times, because they can be in several
 * rules and pattern characters are escaped.
 */
const GROWTH = `
  WITH written AS (SELECT * FROM grants WHERE granted_at >= $1 AND revoked_at IS NULL),
       group_names AS (
         SELECT m.group_id, sum(octet_length(u.username) + 1) AS bytes FROM group_members m JOIN users u ON u.id = m.user_id
          WHERE m.group_id IN (SELECT group_id FROM written) GROUP BY m.group_id)
  SELECT coalesce(sum(400 + 4 * octet_length(concat(g.catalog_name, g.schema_name, g.table_name))
           + 8 * (coalesce(octet_length(g.engine_name), 0) + coalesce(octet_length(u.username) + 1, 0)
                  + coalesce(n.bytes, 0))), 0)::float8 AS bytes,
         coalesce(bool_or(g.table_name IS NULL), false)
           OR EXISTS (SELECT FROM policies WHERE changed_at >= $1 AND removed_at IS NULL)
           OR EXISTS (SELECT FROM group_members WHERE added_at >= $1) AS is_wide
    FROM written g LEFT JOIN users u ON u.id = g.user_id LEFT JOIN group_names n ON n.group_id = g.group_id`;

@Injectable()
export class PostgresSnapshotStore extends SnapshotStore {
  constructor(private readonly session: DatabaseSession) {
    super();
  }

  override async growth(since: Date): Promise<Growth> {
    const [{ bytes, is_wide: isWide }] = await this.session.manager.query<[{ bytes: number; is_wide: boolean }]>(
      GROWTH,
      [since],
    );
    return { bytes, isWide };
  }

  override async read(at: Date): Promise<WrittenSnapshot> {
    return this.written(EVERYTHING, [at]);
  }

  override async readTouched(at: Date, { nodes, groups }: Touched, maxRows: number): Promise<WrittenSnapshot | null> {
    // Each of them is a row that was written: more of them need not be joined to be counted.
    if (nodes.length > maxRows) return null;
    const touched = [at, nodes.map(({ catalog }) => catalog), nodes.map(({ schema }) => schema ?? null), groups];
    const [{ count }] = await this.session.manager.query<[{ count: number }]>(TOUCHED_ROWS, touched);
    return count > maxRows ? null : this.written(TOUCHED_SNAPSHOT, touched);
  }

  override readFor(at: Date, principal: Principal, node: Node | null): Promise<WrittenSnapshot> {
    const { type } = principal;
    const [user, group] = [type === 'user' ? principal.id : null, type === 'group' ? principal.id : null];
    const path = [node?.catalog ?? null, node?.schema ?? null, node?.table ?? null];
    return this.written(OF_PRINCIPAL, [at, user, group, type === 'engine' ? principal.name : null, ...path]);
  }

  private async written(query: string, values: unknown[]): Promise<WrittenSnapshot> {
    const [lists] = await this.session.manager.query<[Lists]>(query, values);
    return {
      users: lists.users.map(({ id, username: name, is_active: isActive }) => ({ id, name, isActive })),
      groups: lists.groups.map((group) => ({ ...group, engines: [] })),
      grants: lists.grants.map((row): SnapshotGrant => ({
        id: row.id,
        principal: unnamedPrincipalOf(row) ?? { type: 'everyone' },
        resource: resourceOf(row),
        privileges: row.privileges,
        expiresAt: row.expires_at === null ? null : new Date(row.expires_at),
        revokedAt: null,
      })),
      policies: lists.policies.map((row): SnapshotPolicy => ({
        id: row.id,
        principal: unnamedPrincipalOf(row) ?? { type: 'everyone' },
        except: row.except.flatMap((exception) => unnamedPrincipalOf(exception) ?? []),
        ...ruleOf(row),
      })),
    };
  }
}
