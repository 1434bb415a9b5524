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
import { areaOf, snapshotSettings, SnapshotStore, type Touched } from '../domain/snapshot-store.js';
import { type PolicyDraft, policyRule } from '../domain/policy.js';
import { GUARANTEE_FORM } from '../guarantee.store.js';
import { policyColumns } from '../policy.store.js';
import { principalForm, principalValues, resourceForm } from './principal-columns.js';

interface Lists {
  users: { id: number; username: string; is_active: boolean }[];
  groups: SnapshotGroup[];
  grants: (Omit<SnapshotGrant, 'expiresAt' | 'revokedAt'> & { expires_at: string | null })[];
  policies: (PolicyDraft & { id: number; principal: PolicyPrincipal; except: Principal[] })[];
  /** Absent in a part. */
  guarantees?: Guarantee[] | null;
}

const LIVE_GRANT = 'revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1)';

const list = (select: string) => `(SELECT coalesce(json_agg(row), '[]') FROM (${select}) AS row)`;

/** The rows of a snapshot, read from the given tables or subqueries. */
const snapshotOf = (from: Record<'users' | 'groups' | 'members' | 'grants' | 'policies', string>) => `SELECT
  ${list(`SELECT id, username, is_active FROM ${from.users} ORDER BY id`)} AS users,
  ${list(`SELECT g.id, g.name,
                 array(SELECT user_id FROM ${from.members} m WHERE m.group_id = g.id AND user_id IS NOT NULL ORDER BY user_id) AS members,
                 array(SELECT engine_name FROM ${from.members} m WHERE m.group_id = g.id AND engine_name IS NOT NULL
                        ORDER BY engine_name COLLATE "C") AS engines
            FROM ${from.groups} g WHERE g.deleted_at IS NULL ORDER BY g.id`)} AS groups,
  ${list(`SELECT g.id, ${principalForm('g.', 'unnamed')} AS principal, ${resourceForm('g', 'unnamed')} AS resource, privileges, expires_at
            FROM ${from.grants} g WHERE ${LIVE_GRANT} ORDER BY id`)} AS grants,
  ${list(`SELECT p.id, ${policyColumns('unnamed')} FROM ${from.policies} p WHERE p.removed_at IS NULL ORDER BY p.id`)} AS policies`;

/** One statement: at any isolation level, a PostgreSQL statement sees one state of the database. */
const EVERYTHING = `${snapshotOf({
  users: 'users',
  groups: 'groups',
  members: 'group_members',
  grants: 'grants',
  policies: 'policies',
})}, (SELECT json_agg(${GUARANTEE_FORM} ORDER BY id) FROM guarantees WHERE removed_at IS NULL) AS guarantees`;

const NON_DATA = `('engine', 'queries', 'acting')`;

/** The columns of `areaOf` in `domain/snapshot-store.ts`. */
const AREA = `node_kind IN ${NON_DATA} AS is_non_data, catalog_name, CASE WHEN node_kind <> 'routine' THEN schema_name END AS schema_name`;

/** The condition of `touchedPart`, as a spec checks. Three lookups in hashed lists replace a join that compares every row with every node. */
const onTouchedNode = (row: string) => `CASE
  WHEN ${row}.node_kind IN ${NON_DATA} THEN (SELECT bool_or(is_non_data) FROM touched)
  WHEN ${row}.catalog_name IS NULL THEN (SELECT bool_or(NOT is_non_data) FROM touched)
  WHEN (SELECT bool_or(NOT is_non_data AND catalog_name IS NULL) FROM touched) THEN true
  ELSE (${row}.catalog_name, ${row}.schema_name) IN (SELECT catalog_name, schema_name FROM touched WHERE schema_name IS NOT NULL)
    OR ${row}.catalog_name IN (SELECT catalog_name FROM touched WHERE schema_name IS NULL AND catalog_name IS NOT NULL)
    OR ((${row}.schema_name IS NULL OR ${row}.node_kind = 'routine')
        AND ${row}.catalog_name IN (SELECT catalog_name FROM touched WHERE catalog_name IS NOT NULL))
  END`;

/** $2, $3 and $4: columns of the nodes' areas; $5: ids of groups; $6 and $7: ids of further users and groups; $8: whether everyone. */
const TOUCHED = `WITH
  touched AS (
    SELECT * FROM unnest($2::boolean[], $3::text[], $4::text[]) AS node (is_non_data, catalog_name, schema_name)
    UNION SELECT ${AREA} FROM grants WHERE (group_id = ANY ($5) OR as_group_id = ANY ($5)) AND ${LIVE_GRANT}
    UNION SELECT ${AREA} FROM policies p
           WHERE p.removed_at IS NULL AND (p.group_id = ANY ($5) OR p.as_group_id = ANY ($5)
             OR EXISTS (SELECT FROM policy_exceptions e WHERE e.policy_id = p.id AND e.group_id = ANY ($5)))),
  grants_there AS (SELECT * FROM grants g WHERE ${LIVE_GRANT} AND ${onTouchedNode('g')}),
  policies_there AS (SELECT * FROM policies p WHERE p.removed_at IS NULL AND ${onTouchedNode('p')})`;
const TOUCHED_ROWS = `${TOUCHED} SELECT count(*)::int AS count FROM grants_there`;
const TOUCHED_SNAPSHOT = `${TOUCHED},
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
  ${snapshotOf({
    users: 'named_users',
    groups: 'named_groups',
    members: 'group_members',
    grants: 'touched_grants',
    policies: 'policies_there',
  })}`;

/** $2, $3 and $4: a user, a group or an engine principal, two of them null. $5 to $8: a node of the tree or a routine; $5 null: any node. */
const NAMED = `(user_id = $2 OR group_id = $3 OR engine_name = $4 OR group_id = ANY (ARRAY(SELECT group_id FROM own_memberships)))`; // IN would read every grant
const ON_PATH = `($5::text IS NULL OR catalog_name IS NULL OR (catalog_name = $5 AND (schema_name IS NULL OR schema_name = $6)
  AND (table_name IS NULL OR (table_name = $7 AND (node_kind = 'routine') = $8::boolean))))`;
const OF_PRINCIPAL = `WITH
  own_memberships AS (SELECT group_id, user_id, engine_name FROM group_members WHERE user_id = $2 OR engine_name = $4),
  own_grants AS (SELECT * FROM grants WHERE (is_for_everyone OR ${NAMED}) AND (${ON_PATH} OR engine_name = $4)),
  own_policies AS (SELECT * FROM policies WHERE is_for_everyone OR ${NAMED}),
  acted_as AS (
    SELECT as_user_id, as_group_id FROM own_grants WHERE ${LIVE_GRANT}
    UNION SELECT as_user_id, as_group_id FROM own_policies WHERE removed_at IS NULL),
  own_users AS (SELECT * FROM users WHERE id = $2 OR id IN (SELECT as_user_id FROM acted_as)),
  own_groups AS (
    SELECT * FROM groups WHERE id = $3 OR id IN (SELECT group_id FROM own_memberships UNION SELECT as_group_id FROM acted_as))
  ${snapshotOf({
    users: 'own_users',
    groups: 'own_groups',
    members: 'own_memberships',
    grants: 'own_grants',
    policies: 'own_policies',
  })}`;

const WITHOUT_PATH = `($4 = 'everything' OR $4 IN ${NON_DATA})`;
/** $1 to $3: a user, a group or an engine principal; $4: the kind of the node; $5 to $8: the node as for `OF_PRINCIPAL`. */
const ON_PATH_TO = `SELECT g.id, ${principalForm('g.', 'named')} AS principal, ${resourceForm('g', 'unnamed')} AS resource, g.privileges,
       g.expires_at AS "expiresAt"
  FROM grants g
 WHERE g.revoked_at IS NULL AND (g.is_for_everyone OR g.group_id IS NOT NULL OR g.user_id = $1 OR g.engine_name = $3)
   AND ($2::integer IS NULL OR g.is_for_everyone OR g.group_id = $2)
   AND ((${WITHOUT_PATH} AND (node_kind = $4 OR ($4 = 'queries' AND node_kind = 'engine')))
     OR (NOT ${WITHOUT_PATH} AND node_kind NOT IN ${NON_DATA} AND ${ON_PATH}))`; // CASE would read every grant

/**
 * An upper estimate: a rule has some 400 bytes besides its names. Names are counted several times, because they can be in several
 * rules and pattern characters are escaped.
 */
const GROWTH = `
  WITH written AS (SELECT * FROM grants WHERE granted_at >= $1 AND revoked_at IS NULL),
       group_names AS (
         SELECT m.group_id, sum(octet_length(coalesce(u.username, m.engine_name)) + 1) AS bytes
           FROM group_members m LEFT JOIN users u ON u.id = m.user_id
          WHERE m.group_id IN (SELECT group_id FROM written UNION SELECT as_group_id FROM written) GROUP BY m.group_id),
       names AS (
         SELECT w.id, CASE WHEN named.is_for_everyone THEN (SELECT sum(octet_length(name) + 1) FROM principal_names)
                           ELSE octet_length(coalesce(named.engine_name, u.username)) + 1 + coalesce(n.bytes, 0) END AS bytes
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

  override async growth(since: Date): Promise<Growth> {
    const { bytes, is_wide: isWide } = await this.session.oneRow<{ bytes: number; is_wide: boolean }>(GROWTH, [since]);
    return { bytes, isWide };
  }

  override async nextExpiry(after: Date): Promise<Date | null> {
    const { next } = await this.session.oneRow<{ next: Date | null }>(
      'SELECT min(expires_at) AS next FROM grants WHERE revoked_at IS NULL AND expires_at > $1',
      [after],
    );
    return next;
  }

  override read(): Promise<Snapshot> {
    return this.snapshot(EVERYTHING);
  }

  override readCommitted(touched: Touched, maxRows: number): Promise<Snapshot | null> {
    return this.session.runOutside(() => this.readTouched(touched, maxRows));
  }

  override async readTouched({ nodes, groups, named = [] }: Touched, maxRows: number): Promise<Snapshot | null> {
    // Each node comes from a written row, so more than `maxRows` nodes mean more than `maxRows` rows.
    if (nodes.length > maxRows) return null;
    const areas = nodes.map(areaOf).map(({ isNonData, catalog, schema }) => [isNonData, catalog, schema]);
    const touched = [...(areas.length === 0 ? [[], [], []] : columnArrays(areas)), groups];
    const { count } = await this.session.oneRow<{ count: number }>(TOUCHED_ROWS, [this.clock.now(), ...touched]);
    const ids = (type: string) => named.flatMap((each) => (hasId(each) && each.type === type ? [each.id] : []));
    const further = [ids('user'), ids('group'), named.some(({ type }) => type === 'everyone')];
    return count > maxRows ? null : this.snapshot(TOUCHED_SNAPSHOT, [...touched, ...further]);
  }

  override readFor(principal: Principal, node: Node | null): Promise<Snapshot> {
    return this.snapshot(OF_PRINCIPAL, [...principalValues(principal), ...pathValues(node ?? {})]);
  }

  override async grantsOnPath(principal: Principal, node: Node): Promise<GrantOnPath[]> {
    const asked = [...principalValues(principal), kindOf(node), ...pathValues(node)];
    return this.session.query<GrantOnPath>(ON_PATH_TO, asked);
  }

  /** @param query gets the present time as $1, then `values` */
  private async snapshot(query: string, values: unknown[] = []): Promise<Snapshot> {
    const at = this.clock.now();
    const lists = await this.session.oneRow<Lists>(query, [at, ...values]);
    return {
      at,
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
