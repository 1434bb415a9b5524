import { Injectable } from '@nestjs/common';
import { columnArrays, DatabaseSession } from '../../platform/database/database-session.js';
import { Clock } from '../../kernel/clock.js';
import { Settings } from '../../platform/settings/settings.js';
import type { Guarantee } from '../../trino-rules/model/guarantee.js';
import { hasId, type PolicyPrincipal, type Principal } from '../../trino-rules/model/principal.js';
import type { GrantOnPath } from '../../trino-rules/answers/ways.js';
import { kindOf, type Node } from '../../trino-rules/model/node.js';
import type { Snapshot, SnapshotGrant, SnapshotGroup, SnapshotPolicy } from '../../trino-rules/model/snapshot.js';
import type { Growth } from '../domain/admission-ports.js';
import { areaOf, snapshotSettings, SnapshotStore, type TouchedScope } from '../domain/snapshot-store.js';
import { type PolicyDraft, policyRule } from '../domain/policy.js';
import { GUARANTEE_JSON } from '../guarantee.store.js';
import { policyColumns } from '../policy.store.js';
import { principalJson, principalValues, resourceJson } from './principal-columns.js';

interface SnapshotLists {
  users: { id: number; username: string; is_active: boolean }[];
  groups: SnapshotGroup[];
  grants: (Omit<SnapshotGrant, 'expiresAt' | 'revokedAt'> & { expires_at: string | null })[];
  policies: (PolicyDraft & { id: number; principal: PolicyPrincipal; except: Principal[] })[];
  /** All guarantees; absent if only a part of the snapshot was read. */
  guarantees?: Guarantee[] | null;
}

const LIVE_GRANT = 'revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1)';

const jsonList = (select: string) => `(SELECT coalesce(json_agg(row), '[]') FROM (${select}) AS row)`;

/** SELECT of the rows of a snapshot as JSON lists. `sources` are the tables or subqueries to read them from. */
const selectSnapshot = (sources: Record<'users' | 'groups' | 'members' | 'grants' | 'policies', string>) => `SELECT
  ${jsonList(`SELECT id, username, is_active FROM ${sources.users} ORDER BY id`)} AS users,
  ${jsonList(`SELECT g.id, g.name,
                 array(SELECT user_id FROM ${sources.members} m WHERE m.group_id = g.id AND user_id IS NOT NULL ORDER BY user_id) AS members,
                 array(SELECT engine_name FROM ${sources.members} m WHERE m.group_id = g.id AND engine_name IS NOT NULL
                        ORDER BY engine_name COLLATE "C") AS engines
            FROM ${sources.groups} g WHERE g.deleted_at IS NULL ORDER BY g.id`)} AS groups,
  ${jsonList(`SELECT g.id, ${principalJson('g.', 'ids-only')} AS principal, ${resourceJson('g', 'ids-only')} AS resource, privileges, expires_at
            FROM ${sources.grants} g WHERE ${LIVE_GRANT} ORDER BY id`)} AS grants,
  ${jsonList(`SELECT p.id, ${policyColumns('ids-only')} FROM ${sources.policies} p WHERE p.removed_at IS NULL ORDER BY p.id`)} AS policies`;

/** Selects the whole snapshot in one statement, because a PostgreSQL statement sees one state of the database at any isolation level. */
const WHOLE_SNAPSHOT = `${selectSnapshot({
  users: 'users',
  groups: 'groups',
  members: 'group_members',
  grants: 'grants',
  policies: 'policies',
})}, (SELECT json_agg(${GUARANTEE_JSON} ORDER BY id) FROM guarantees WHERE removed_at IS NULL) AS guarantees`;

const NON_DATA_KINDS = `('engine', 'queries', 'acting')`;

/** SQL for the result of `areaOf` (in `domain/snapshot-store.ts`): the schema or catalog that a grant or policy is in. */
const AREA_COLUMNS = `node_kind IN ${NON_DATA_KINDS} AS is_non_data, catalog_name, CASE WHEN node_kind <> 'routine' THEN schema_name END AS schema_name`;

/** The condition of `touchedPart` in SQL. Uses IN, because PostgreSQL hashes the list, and a join would be slower. */
const touchesNodeSql = (row: string) => `CASE
  WHEN ${row}.node_kind IN ${NON_DATA_KINDS} THEN (SELECT bool_or(is_non_data) FROM touched)
  WHEN ${row}.catalog_name IS NULL THEN (SELECT bool_or(NOT is_non_data) FROM touched)
  WHEN (SELECT bool_or(NOT is_non_data AND catalog_name IS NULL) FROM touched) THEN true
  ELSE (${row}.catalog_name, ${row}.schema_name) IN (SELECT catalog_name, schema_name FROM touched WHERE schema_name IS NOT NULL)
    OR ${row}.catalog_name IN (SELECT catalog_name FROM touched WHERE schema_name IS NULL AND catalog_name IS NOT NULL)
    OR ((${row}.schema_name IS NULL OR ${row}.node_kind = 'routine')
        AND ${row}.catalog_name IN (SELECT catalog_name FROM touched WHERE catalog_name IS NOT NULL))
  END`;

/** Selects the grants and policies in a `TouchedScope` (nodes $2 to $4, groups $5). TOUCHED_SNAPSHOT also reads the users $6 and the groups $7 and, if $8 is true, all users. */
const TOUCHED_TABLES = `WITH
  touched AS (
    SELECT * FROM unnest($2::boolean[], $3::text[], $4::text[]) AS node (is_non_data, catalog_name, schema_name)
    UNION SELECT ${AREA_COLUMNS} FROM grants WHERE (group_id = ANY ($5) OR as_group_id = ANY ($5)) AND ${LIVE_GRANT}
    UNION SELECT ${AREA_COLUMNS} FROM policies p
           WHERE p.removed_at IS NULL AND (p.group_id = ANY ($5) OR p.as_group_id = ANY ($5)
             OR EXISTS (SELECT FROM policy_exceptions e WHERE e.policy_id = p.id AND e.group_id = ANY ($5)))),
  grants_there AS (SELECT * FROM grants g WHERE ${LIVE_GRANT} AND ${touchesNodeSql('g')}),
  policies_there AS (SELECT * FROM policies p WHERE p.removed_at IS NULL AND ${touchesNodeSql('p')})`;
const TOUCHED_GRANT_COUNT = `${TOUCHED_TABLES} SELECT count(*)::int AS count FROM grants_there`;
const TOUCHED_SNAPSHOT = `${TOUCHED_TABLES},
  is_for_all AS (SELECT EXISTS (
      SELECT FROM grants_there WHERE is_for_everyone OR node_kind = 'acting' OR (node_kind = 'queries' AND is_as_everyone)
      UNION ALL SELECT FROM policies_there WHERE node_kind = 'queries' AND is_as_everyone) OR $8::boolean AS is_for_all),
  touched_grants AS (
    SELECT * FROM grants_there
    UNION (SELECT DISTINCT ON (engine_name) * FROM grants
            WHERE ${LIVE_GRANT} AND engine_name IS NOT NULL AND (SELECT is_for_all FROM is_for_all) ORDER BY engine_name, id)),
  named AS (
    SELECT user_id, group_id FROM touched_grants
    UNION SELECT as_user_id, as_group_id FROM touched_grants
    UNION SELECT user_id, group_id FROM policies_there
    UNION SELECT as_user_id, as_group_id FROM policies_there
    UNION SELECT e.user_id, e.group_id FROM policy_exceptions e JOIN policies_there p ON e.policy_id = p.id
    UNION SELECT unnest($6::integer[]), NULL UNION SELECT NULL, unnest($7::integer[])),
  named_groups AS (
    SELECT * FROM groups WHERE id IN (SELECT group_id FROM named)
       OR ((SELECT is_for_all FROM is_for_all) AND id IN (SELECT group_id FROM group_members WHERE engine_name IS NOT NULL))),
  named_users AS (
    SELECT * FROM users WHERE (SELECT is_for_all FROM is_for_all) OR id IN (
      SELECT user_id FROM named
      UNION SELECT user_id FROM group_members WHERE group_id IN (SELECT id FROM named_groups)))
  ${selectSnapshot({
    users: 'named_users',
    groups: 'named_groups',
    members: 'group_members',
    grants: 'touched_grants',
    policies: 'policies_there',
  })}`;

/** Conditions on rows. $2 to $4: the principal (user, group or engine principal). $5 to $8: the node; $5 null: any node. */
const IS_OWN_SQL = `(user_id = $2 OR group_id = $3 OR engine_name = $4 OR group_id = ANY (ARRAY(SELECT group_id FROM own_memberships)))`; // IN would read every grant
const IS_ON_PATH_SQL = `($5::text IS NULL OR catalog_name IS NULL OR (catalog_name = $5 AND (schema_name IS NULL OR schema_name = $6)
  AND (table_name IS NULL OR (table_name = $7 AND (node_kind = 'routine') = $8::boolean))))`;
const PRINCIPAL_SNAPSHOT = `WITH
  own_memberships AS (SELECT group_id, user_id, engine_name FROM group_members WHERE user_id = $2 OR engine_name = $4),
  own_grants AS (SELECT * FROM grants WHERE (is_for_everyone OR ${IS_OWN_SQL}) AND (${IS_ON_PATH_SQL} OR engine_name = $4)),
  own_policies AS (SELECT * FROM policies WHERE is_for_everyone OR ${IS_OWN_SQL}),
  acted_as AS (
    SELECT as_user_id, as_group_id FROM own_grants WHERE ${LIVE_GRANT}
    UNION SELECT as_user_id, as_group_id FROM own_policies WHERE removed_at IS NULL),
  own_users AS (SELECT * FROM users WHERE id = $2 OR id IN (SELECT as_user_id FROM acted_as)),
  own_groups AS (
    SELECT * FROM groups WHERE id = $3 OR id IN (SELECT group_id FROM own_memberships UNION SELECT as_group_id FROM acted_as))
  ${selectSnapshot({
    users: 'own_users',
    groups: 'own_groups',
    members: 'own_memberships',
    grants: 'own_grants',
    policies: 'own_policies',
  })}`;

const HAS_NO_PATH_SQL = `($4 = 'everything' OR $4 IN ${NON_DATA_KINDS})`;
/** Selects grants on a node and above it. $1 to $3: a user, a group or an engine principal; $4: the kind of the node; $5 to $8: the node as for `PRINCIPAL_SNAPSHOT`. */
const GRANTS_ON_PATH = `SELECT g.id, ${principalJson('g.', 'with-names')} AS principal, ${resourceJson('g', 'ids-only')} AS resource, g.privileges,
       g.expires_at AS "expiresAt"
  FROM grants g
 WHERE g.revoked_at IS NULL AND (g.is_for_everyone OR g.group_id IS NOT NULL OR g.user_id = $1 OR g.engine_name = $3)
   AND ($2::integer IS NULL OR g.is_for_everyone OR g.group_id = $2)
   AND ((${HAS_NO_PATH_SQL} AND (node_kind = $4 OR ($4 = 'queries' AND node_kind = 'engine')))
     OR (NOT ${HAS_NO_PATH_SQL} AND node_kind NOT IN ${NON_DATA_KINDS} AND ${IS_ON_PATH_SQL}))`; // CASE would read every grant

/** Selects an upper estimate of the bytes that grants written since $1 add to the rules. Counts names several times, because several rules may contain them. */
const GROWTH = `
  WITH written AS (SELECT * FROM grants WHERE granted_at >= $1 AND revoked_at IS NULL),
       group_names AS (
         SELECT m.group_id, sum(octet_length(coalesce(u.username, m.engine_name)) + 1) AS bytes
           FROM group_members m LEFT JOIN users u ON u.id = m.user_id
          WHERE m.group_id IN (SELECT group_id FROM written UNION SELECT as_group_id FROM written) GROUP BY m.group_id),
       names AS (
         SELECT w.id, CASE WHEN named.is_for_everyone THEN (SELECT sum(octet_length(name) + 1) FROM principal_names)
                           ELSE coalesce(octet_length(coalesce(named.engine_name, u.username)) + 1, n.bytes) END AS bytes
           FROM written w
          CROSS JOIN LATERAL (VALUES (w.user_id, w.group_id, w.engine_name, w.is_for_everyone),
                                     (w.as_user_id, w.as_group_id, w.as_engine_name, w.is_as_everyone))
                     AS named (user_id, group_id, engine_name, is_for_everyone)
           LEFT JOIN users u ON u.id = named.user_id LEFT JOIN group_names n ON n.group_id = named.group_id)
  SELECT coalesce(sum(400 + 4 * octet_length(concat(w.catalog_name, w.schema_name, w.table_name))
           + 8 * (SELECT coalesce(sum(bytes), 0) FROM names WHERE names.id = w.id)), 0)::float8 AS bytes,
         coalesce(bool_or(node_level(w.node_kind, w.schema_name, w.table_name) <> 'table'), false)
           OR EXISTS (SELECT FROM policies WHERE changed_at >= $1 AND removed_at IS NULL)
           OR EXISTS (SELECT FROM group_members WHERE added_at >= $1) AS is_wide
    FROM written w`;

@Injectable()
export class PostgresSnapshotStore extends SnapshotStore {
  constructor(
    private readonly session: DatabaseSession,
    private readonly settings: Settings,
    private readonly clock: Clock,
  ) {
    super();
  }

  override async growthSince(since: Date): Promise<Growth> {
    const { bytes, is_wide: isWide } = await this.session.oneRow<{ bytes: number; is_wide: boolean }>(GROWTH, [since]);
    return { bytes, isWide };
  }

  override async nextExpiry(afterDate: Date): Promise<Date | null> {
    const { next } = await this.session.oneRow<{ next: Date | null }>(
      'SELECT min(expires_at) AS next FROM grants WHERE revoked_at IS NULL AND expires_at > $1',
      [afterDate],
    );
    return next;
  }

  override read(): Promise<Snapshot> {
    return this.readSnapshot(WHOLE_SNAPSHOT);
  }

  override readCommitted(touchedScope: TouchedScope, maxRows: number): Promise<Snapshot | null> {
    return this.session.runOutside(() => this.readTouched(touchedScope, maxRows));
  }

  override async readTouched(scope: TouchedScope, maxRows: number): Promise<Snapshot | null> {
    const { nodes, groups, principals = [] } = scope;
    // The transaction wrote at least one row for each node, so more nodes than `maxRows` mean too many rows.
    if (nodes.length > maxRows) return null;
    const areas = nodes.map(areaOf).map(({ isNonData, catalog, schema }) => [isNonData, catalog, schema]);
    const values = [...columnArrays(areas, 3), groups];
    const { count } = await this.session.oneRow<{ count: number }>(TOUCHED_GRANT_COUNT, [this.clock.now(), ...values]);
    const idsOf = (type: string) => principals.flatMap((each) => (hasId(each) && each.type === type ? [each.id] : []));
    const extraValues = [idsOf('user'), idsOf('group'), principals.some(({ type }) => type === 'everyone')];
    return count > maxRows ? null : this.readSnapshot(TOUCHED_SNAPSHOT, [...values, ...extraValues]);
  }

  override readFor(principal: Principal, node: Node | null): Promise<Snapshot> {
    return this.readSnapshot(PRINCIPAL_SNAPSHOT, [...principalValues(principal), ...pathValues(node ?? {})]);
  }

  override async grantsOnPath(principal: Principal, node: Node): Promise<GrantOnPath[]> {
    const parameters = [...principalValues(principal), kindOf(node), ...pathValues(node)];
    return this.session.query<GrantOnPath>(GRANTS_ON_PATH, parameters);
  }

  /** Reads a snapshot. @param query a statement with the present time as $1, and `values` as its further parameters */
  private async readSnapshot(query: string, values: unknown[] = []): Promise<Snapshot> {
    const now = this.clock.now();
    const lists = await this.session.oneRow<SnapshotLists>(query, [now, ...values]);
    return {
      at: now,
      settings: snapshotSettings(this.settings),
      users: lists.users.map(({ id, username: name, is_active: isActive }) => ({ id, name, isActive })),
      groups: lists.groups,
      grants: lists.grants.map(({ expires_at: expiresAt, ...grant }): SnapshotGrant => ({
        ...grant,
        expiresAt: expiresAt === null ? null : new Date(expiresAt),
        revokedAt: null,
      })),
      policies: lists.policies.map(({ id, principal, except, ...rule }): SnapshotPolicy => ({
        ...{ id, principal, except },
        ...policyRule(rule),
      })),
      ...(lists.guarantees && { guarantees: lists.guarantees }),
    };
  }
}

function pathValues({ catalog, schema, table, routine }: Node): unknown[] {
  return [catalog ?? null, schema ?? null, table ?? routine ?? null, routine !== undefined];
}
