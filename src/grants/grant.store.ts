import { Injectable } from '@nestjs/common';
import { type Page, pageOf, type PageRequest } from '../kernel/page.js';
import { columnArrays, DatabaseSession } from '../platform/database/database-session.js';
import { Settings } from '../platform/settings/settings.js';
import { namesOf } from '../trino-rules/model/node.js';
import type { Principal } from '../trino-rules/model/principal.js';
import {
  type ChildrenRequest,
  childLevel,
  type NamedChild,
  type NamedTable,
  type TablesRequest,
} from './domain/catalog.js';
import type { Grant, GrantFilter, GrantOutcome, NewGrant, RevokeOutcome } from './domain/grant.js';
import {
  ENTRY_COLUMNS,
  ENTRY_TYPES,
  entryColumnValues,
  FILTER_PARAMETERS,
  filterCondition,
  filterValues,
  principalJson,
  principalValues,
  resourceJson,
} from './infrastructure/principal-columns.js';

const actorJson = (table: string) =>
  `CASE WHEN ${table}.id IS NOT NULL THEN json_build_object('id', ${table}.id, 'name', ${table}.username) END`;

/** SELECT of rows in the form of `Grant`, without WHERE. `g` is the row of the table. */
export const SELECT_GRANTS = `
  SELECT g.id, ${principalJson('g.', 'with-names')} AS principal, ${resourceJson('g', 'with-names')} AS resource, g.privileges, g.description,
         g.expires_at AS "expiresAt", ${actorJson('giver')} AS "grantedBy", g.granted_at AS "grantedAt",
         ${actorJson('revoker')} AS "revokedBy", g.revoked_at AS "revokedAt"
    FROM grants g
    LEFT JOIN users giver ON giver.id = g.granted_by
    LEFT JOIN users revoker ON revoker.id = g.revoked_by`;

/**
 * SQL conditions that two live grants are equal: one for grants with a catalog, one for grants without, as in the indexes `grants_one_live`
 * and `grants_one_live_without_catalog` (migration 0108). The privileges tell a table from a routine of the same name.
 */
const EQUAL_CONDITIONS = [
  equalColumns(
    (row) =>
      `${row}.catalog_name, coalesce(${row}.schema_name, ''), coalesce(${row}.table_name, ''), ${principalAndTerms(row)}`,
  ),
  `g.catalog_name IS NULL AND asked.catalog_name IS NULL AND ${equalColumns(
    (row) =>
      `${row}.node_kind, coalesce(${row}.as_user_id, 0), coalesce(${row}.as_group_id, 0), coalesce(${row}.as_engine_name, ''),
       ${principalAndTerms(row)}`,
  )}`,
];

const COLUMNS = [...ENTRY_COLUMNS, 'privileges', 'expires_at', 'description'];
/** Types of the columns as parameters. Privileges are sent as the text of an array: nested PostgreSQL arrays must have equal lengths. */
const COLUMN_TYPES = [...ENTRY_TYPES, 'text', 'timestamptz', 'text'];
const PARAMETER_COUNT = COLUMN_TYPES.length;

/** Subquery for the grants to record. Its parameters ($1 and so on) are one array for each column. `place` numbers the grants from 1. */
const REQUESTED_GRANTS = `
  (SELECT ${COLUMNS.map((column) => (column === 'privileges' ? 'privileges::text[]' : column)).join(', ')}, place
     FROM unnest(${COLUMN_TYPES.map((type, i) => `$${i + 1}::${type}[]`).join(', ')}) WITH ORDINALITY AS row (${COLUMNS.join(', ')}, place)) AS asked`;

/** The table of grants. A row never changes, except when it is revoked. */
@Injectable()
export class GrantStore {
  constructor(
    private readonly session: DatabaseSession,
    private readonly settings: Settings,
  ) {}

  /** Records grants. @returns outcomes in the order of `grants`. The ids of new grants have the same order */
  async grant(grants: readonly NewGrant[], actorId: number | null, now: Date): Promise<GrantOutcome[]> {
    const outcomes: GrantOutcome[] = [];
    // After a conflict, the equal grant is read. If it was revoked in between, the insert is tried again.
    for (let todo = [...grants.entries()]; todo.length > 0; todo = todo.filter(([i]) => outcomes[i] === undefined)) {
      const columnValues = columnArrays(todo.map(([, grant]) => grantValues(grant)));
      const insertedRows = await this.session.query<{ id: number }>(
        `INSERT INTO grants (${COLUMNS.join(', ')}, granted_by, granted_at)
         SELECT ${COLUMNS.join(', ')}, $${PARAMETER_COUNT + 1}::integer, $${PARAMETER_COUNT + 2}::timestamptz FROM ${REQUESTED_GRANTS} ORDER BY place
         ON CONFLICT DO NOTHING RETURNING id`,
        [...columnValues, actorId, now],
      );
      const createdIds = new Set(insertedRows.map(({ id }) => id));
      const equalGrants = await this.session.query<Grant & { place: number }>(
        // LIMIT makes the planner look up each grant in the index, even when this transaction fills the table and statistics are stale.
        `${EQUAL_CONDITIONS.map(
          (condition) => `SELECT asked.place::integer AS place, equal.*
            FROM ${REQUESTED_GRANTS} CROSS JOIN LATERAL (${SELECT_GRANTS} WHERE g.revoked_at IS NULL AND ${condition} LIMIT 1) AS equal`,
        ).join(' UNION ALL ')} ORDER BY place`,
        columnValues,
      );
      for (const { place, ...row } of equalGrants) {
        const [i] = todo[place - 1] ?? [];
        if (i !== undefined) outcomes[i] = { grant: row, isNew: createdIds.delete(row.id) };
      }
    }
    return outcomes;
  }

  /** Revokes grants. @returns outcomes in the order of `ids`, with null for an id without a grant */
  async revoke(ids: readonly number[], actorId: number | null, now: Date): Promise<(RevokeOutcome | null)[]> {
    const rows = await this.session.query<{ id: number }>(
      'UPDATE grants SET revoked_by = $2, revoked_at = $3 WHERE id = ANY ($1) AND revoked_at IS NULL RETURNING id',
      [ids, actorId, now],
    );
    const revokedIds = new Set(rows.map(({ id }) => id));
    const grantRows = await this.session.query<Grant>(`${SELECT_GRANTS} WHERE g.id = ANY ($1)`, [ids]);
    const grants = new Map(grantRows.map((row) => [row.id, row]));
    return ids.map((id) => {
      const grant = grants.get(id);
      return grant === undefined ? null : { grant, isNewlyRevoked: revokedIds.delete(id) };
    });
  }

  async grantsNaming(principal: Principal): Promise<number[]> {
    const rows = await this.session.query<{ id: number }>(
      `SELECT id FROM grants WHERE revoked_at IS NULL AND ($1::integer IN (user_id, as_user_id)
         OR $2::integer IN (group_id, as_group_id) OR $3::text IN (engine_name, as_engine_name)) ORDER BY id`,
      principalValues(principal),
    );
    return rows.map(({ id }) => id);
  }

  find(id: number): Promise<Grant | null> {
    return this.session.firstRow<Grant>(`${SELECT_GRANTS} WHERE g.id = $1`, [id]);
  }

  async list(filter: GrantFilter, { limit, after }: PageRequest, now: Date): Promise<Page<Grant>> {
    const parameter = (place: number): string => `$${FILTER_PARAMETERS + place}`;
    const filterParameters = filterValues(filter, this.settings.acl.metadataCatalog);
    const rows = await this.session.query<Grant>(
      `${SELECT_GRANTS}
       WHERE ${filterCondition('g')} AND g.id > ${parameter(1)}
         AND (${parameter(2)} = 'all' OR ${parameter(2)} = CASE WHEN g.revoked_at IS NOT NULL THEN 'revoked'
                                                    WHEN g.expires_at <= ${parameter(3)} THEN 'expired' ELSE 'live' END)
         AND (${parameter(4)}::timestamptz IS NULL OR g.expires_at < ${parameter(4)})
         AND (${parameter(5)}::text[] IS NULL OR g.privileges && ${parameter(5)})
       ORDER BY g.id LIMIT ${parameter(6)}`,
      [...filterParameters, after ?? 0, filter.state, now, filter.expiresBefore, filter.privileges, limit + 1],
    );
    return pageOf(rows, limit, ({ id }) => id);
  }

  /** Children of `parent` that are named in live grants and policies; at most `limit` + 1, so that a next page can be noticed. */
  async namedChildren({ parent, namePart, after, limit }: ChildrenRequest, now: Date): Promise<NamedChild[]> {
    const level = childLevel(parent);
    if (level === null) return [];
    const [catalog = null, schema = null] = namesOf(parent);
    const parameters = [now, catalog, schema, namePart, after, limit + 1];
    return this.session.query<NamedChild>(childrenSql(COLUMN_OF[level]), parameters);
  }

  namedTables({ catalog, namePart, limit }: TablesRequest, now: Date): Promise<NamedTable[]> {
    return this.session.query<NamedTable>(SELECT_TABLES, [now, catalog, namePart, limit]);
  }
}

/** SQL condition: these columns of a requested grant (`asked`) equal those of a row of the table (`g`). */
function equalColumns(columnsOf: (row: 'asked' | 'g') => string): string {
  return `(${columnsOf('g')}) = (${columnsOf('asked')})`;
}

function principalAndTerms(row: string): string {
  return `coalesce(${row}.user_id, 0), coalesce(${row}.group_id, 0), coalesce(${row}.engine_name, ''), ${row}.privileges,
    coalesce(${row}.expires_at, 'infinity')`;
}

function grantValues({ principal, resource, privileges, expiresAt, description }: NewGrant): unknown[] {
  return [...entryColumnValues(principal, resource), `{${privileges.join(',')}}`, expiresAt, description];
}

const COLUMN_OF = { catalog: 'catalog_name', schema: 'schema_name', table: 'table_name' } as const;

/** Selects a page of names in `column`. $1: now; $2, $3: catalog, schema; $4: part of the name; $5: last name of the previous page; $6: limit. */
const childrenSql = (column: string) => {
  const condition = `node_kind ${column === COLUMN_OF.table ? `= 'tree'` : `IN ('tree', 'routine')`} AND ${column} IS NOT NULL
    AND ($2::text IS NULL OR catalog_name = $2) AND ($3::text IS NULL OR schema_name = $3)
    AND strpos(${column}, $4) > 0 AND ($5::text IS NULL OR ${column} COLLATE "C" > $5)`;
  return `SELECT name, count(*) FILTER (WHERE is_grant)::int AS grants, count(*) FILTER (WHERE NOT is_grant)::int AS policies
    FROM (SELECT ${column} AS name, true AS is_grant FROM grants
           WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1) AND ${condition}
          UNION ALL SELECT ${column}, false FROM policies WHERE removed_at IS NULL AND ${condition}) AS named
   GROUP BY name ORDER BY name COLLATE "C" LIMIT $6`;
};

/** Selects tables of a catalog. $1: now; $2: the catalog; $3: part of the name; $4: limit. */
const SELECT_TABLES = `SELECT schema, name, count(*) FILTER (WHERE is_grant)::int AS grants, count(*) FILTER (WHERE NOT is_grant)::int AS policies
  FROM (SELECT schema_name AS schema, table_name AS name, true AS is_grant, node_kind, catalog_name FROM grants
         WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1)
        UNION ALL SELECT schema_name, table_name, false, node_kind, catalog_name FROM policies WHERE removed_at IS NULL) AS named
 WHERE node_kind = 'tree' AND catalog_name = $2 AND strpos(name, $3) > 0
 GROUP BY schema, name ORDER BY schema COLLATE "C", name COLLATE "C" LIMIT $4`;
