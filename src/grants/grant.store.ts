import { Injectable } from '@nestjs/common';
import { type Page, pageOf, type PageRequest } from '../kernel/page.js';
import { columnArrays, DatabaseSession } from '../platform/database/database-session.js';
import { namesOf } from '../trino-rules/model/node.js';
import type { Principal } from '../trino-rules/model/principal.js';
import {
  type ChildrenRequest,
  levelBelow,
  type NamedChild,
  type NamedTable,
  type TablesRequest,
} from './domain/catalog.js';
import type { Grant, GrantFilter, GrantOutcome, NewGrant, RevokeOutcome } from './domain/grant.js';
import {
  ENTRY_COLUMNS,
  ENTRY_TYPES,
  entryValues,
  FILTER_PARAMETERS,
  filterCondition,
  filterValues,
  principalForm,
  principalValues,
  resourceForm,
} from './infrastructure/principal-columns.js';

const actor = (alias: string) =>
  `CASE WHEN ${alias}.id IS NOT NULL THEN json_build_object('id', ${alias}.id, 'name', ${alias}.username) END`;

const SELECT_GRANTS = `
  SELECT g.id, ${principalForm('g.', 'named')} AS principal, ${resourceForm('g', 'named')} AS resource, g.privileges, g.description,
         g.expires_at AS "expiresAt", ${actor('giver')} AS "grantedBy", g.granted_at AS "grantedAt",
         ${actor('revoker')} AS "revokedBy", g.revoked_at AS "revokedAt"
    FROM grants g
    LEFT JOIN users giver ON giver.id = g.granted_by
    LEFT JOIN users revoker ON revoker.id = g.revoked_by`;

/**
 * Conditions that two live grants are equal, for grants with and without a catalog, as in the indexes `grants_one_live`
 * (migration 0020) and `grants_one_live_without_catalog` (0071). The privileges distinguish a routine from a table.
 */
const SAME = [
  inBoth(
    (row) =>
      `${row}.catalog_name, coalesce(${row}.schema_name, ''), coalesce(${row}.table_name, ''), ${principalAndTerms(row)}`,
  ),
  `g.catalog_name IS NULL AND asked.catalog_name IS NULL AND ${inBoth(
    (row) =>
      `${row}.node_kind, coalesce(${row}.as_user_id, 0), coalesce(${row}.as_group_id, 0), coalesce(${row}.as_engine_name, ''),
       ${principalAndTerms(row)}`,
  )}`,
];

const COLUMNS = [...ENTRY_COLUMNS, 'privileges', 'expires_at', 'description'];
/** Each grant's privileges are sent as the text of an array, because rows of a PostgreSQL array have equal lengths. */
const TYPES = [...ENTRY_TYPES, 'text', 'timestamptz', 'text'];
const PARAMETERS = TYPES.length;

/** Selects new grants from the parameters of `values`; `place` numbers them from 1. */
const ASKED = `
  (SELECT ${COLUMNS.map((column) => (column === 'privileges' ? 'privileges::text[]' : column)).join(', ')}, place
     FROM unnest(${TYPES.map((type, i) => `$${i + 1}::${type}[]`).join(', ')}) WITH ORDINALITY AS row (${COLUMNS.join(', ')}, place)) AS asked`;

/** Grants. Rows never change, except to be revoked. */
@Injectable()
export class GrantStore {
  constructor(private readonly session: DatabaseSession) {}

  /** Outcomes in the order of the grants, in which ids of new grants rise. */
  async grant(grants: readonly NewGrant[], by: number | null, at: Date): Promise<GrantOutcome[]> {
    const granted: GrantOutcome[] = [];
    // After a conflict, the equal grant is read. If it was revoked in between, the insert is tried again.
    for (let left = [...grants.entries()]; left.length > 0; left = left.filter(([i]) => granted[i] === undefined)) {
      const asked = columnArrays(left.map(([, grant]) => values(grant)));
      const made = await this.session.query<{ id: number }>(
        `INSERT INTO grants (${COLUMNS.join(', ')}, granted_by, granted_at)
         SELECT ${COLUMNS.join(', ')}, $${PARAMETERS + 1}::integer, $${PARAMETERS + 2}::timestamptz FROM ${ASKED} ORDER BY place
         ON CONFLICT DO NOTHING RETURNING id`,
        [...asked, by, at],
      );
      const created = new Set(made.map(({ id }) => id));
      const found = await this.session.query<Grant & { place: number }>(
        // LIMIT makes the planner look each grant up in the index, also when this transaction fills the table and statistics are stale.
        `${SAME.map(
          (isSame) => `SELECT asked.place::integer AS place, equal.*
            FROM ${ASKED} CROSS JOIN LATERAL (${SELECT_GRANTS} WHERE g.revoked_at IS NULL AND ${isSame} LIMIT 1) AS equal`,
        ).join(' UNION ALL ')} ORDER BY place`,
        asked,
      );
      for (const { place, ...row } of found) {
        const [i] = left[place - 1] ?? [];
        if (i !== undefined) granted[i] = { grant: row, created: created.delete(row.id) };
      }
    }
    return granted;
  }

  /** Outcomes in the order of the ids; null: there is no such grant. */
  async revoke(ids: readonly number[], by: number | null, at: Date): Promise<(RevokeOutcome | null)[]> {
    const rows = await this.session.query<{ id: number }>(
      'UPDATE grants SET revoked_by = $2, revoked_at = $3 WHERE id = ANY ($1) AND revoked_at IS NULL RETURNING id',
      [ids, by, at],
    );
    const revoked = new Set(rows.map(({ id }) => id));
    const found = await this.session.query<Grant>(`${SELECT_GRANTS} WHERE g.id = ANY ($1)`, [ids]);
    const grants = new Map(found.map((row) => [row.id, row]));
    return ids.map((id) => {
      const grant = grants.get(id);
      return grant === undefined ? null : { grant, revoked: revoked.delete(id) };
    });
  }

  /** Ids of unrevoked grants to this principal or on a node that names it. */
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

  /** Grants ordered by id, the oldest first. */
  async list(filter: GrantFilter, { limit, after }: PageRequest, at: Date): Promise<Page<Grant>> {
    const own = (place: number): string => `$${FILTER_PARAMETERS + place}`;
    const rows = await this.session.query<Grant>(
      `${SELECT_GRANTS}
       WHERE ${filterCondition('g')} AND g.id > ${own(1)}
         AND (${own(2)} = 'all' OR ${own(2)} = CASE WHEN g.revoked_at IS NOT NULL THEN 'revoked'
                                                    WHEN g.expires_at <= ${own(3)} THEN 'expired' ELSE 'live' END)
         AND (${own(4)}::timestamptz IS NULL OR g.expires_at < ${own(4)})
         AND (${own(5)}::text[] IS NULL OR g.privileges && ${own(5)})
       ORDER BY g.id LIMIT ${own(6)}`,
      [...filterValues(filter), after ?? 0, filter.state, at, filter.expiresBefore, filter.privileges, limit + 1],
    );
    return pageOf(rows, limit, ({ id }) => id);
  }

  /** Children of a node that live grants and policies name; at most `limit` + 1. */
  async namedChildren({ under, q, after, limit }: ChildrenRequest, at: Date): Promise<NamedChild[]> {
    const level = levelBelow(under);
    if (level === null) return [];
    const [catalog = null, schema = null] = namesOf(under);
    return this.session.query<NamedChild>(childrenIn(COLUMN[level]), [at, catalog, schema, q, after, limit + 1]);
  }

  /** Tables of a catalog that live grants and policies name, ordered by schema and name. */
  namedTables({ catalog, q, limit }: TablesRequest, at: Date): Promise<NamedTable[]> {
    return this.session.query<NamedTable>(TABLES, [at, catalog, q, limit]);
  }
}

/** A condition that the columns of a requested grant equal those of a row of the table. */
function inBoth(columns: (row: 'asked' | 'g') => string): string {
  return `(${columns('g')}) = (${columns('asked')})`;
}

function principalAndTerms(row: string): string {
  return `coalesce(${row}.user_id, 0), coalesce(${row}.group_id, 0), coalesce(${row}.engine_name, ''), ${row}.privileges,
    coalesce(${row}.expires_at, 'infinity')`;
}

function values({ principal, resource, privileges, expiresAt, description }: NewGrant): unknown[] {
  return [...entryValues(principal, resource), `{${privileges.join(',')}}`, expiresAt, description];
}

const COLUMN = { catalog: 'catalog_name', schema: 'schema_name', table: 'table_name' } as const;

/** $1: now; $2, $3: catalog, schema; $4: part of the name; $5: last name of the page before; $6: limit. Routines count for their schema. */
const childrenIn = (column: string) => {
  const there = `node_kind ${column === COLUMN.table ? `= 'tree'` : `IN ('tree', 'routine')`} AND ${column} IS NOT NULL
    AND ($2::text IS NULL OR catalog_name = $2) AND ($3::text IS NULL OR schema_name = $3)
    AND strpos(${column}, $4) > 0 AND ($5::text IS NULL OR ${column} COLLATE "C" > $5)`;
  return `SELECT name, count(*) FILTER (WHERE is_grant)::int AS grants, count(*) FILTER (WHERE NOT is_grant)::int AS policies
    FROM (SELECT ${column} AS name, true AS is_grant FROM grants
           WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1) AND ${there}
          UNION ALL SELECT ${column}, false FROM policies WHERE removed_at IS NULL AND ${there}) AS named
   GROUP BY name ORDER BY name COLLATE "C" LIMIT $6`;
};

/** $1: now; $2: the catalog; $3: part of the name; $4: limit. */
const TABLES = `SELECT schema, name, count(*) FILTER (WHERE is_grant)::int AS grants, count(*) FILTER (WHERE NOT is_grant)::int AS policies
  FROM (SELECT schema_name AS schema, table_name AS name, true AS is_grant, node_kind, catalog_name FROM grants
         WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1)
        UNION ALL SELECT schema_name, table_name, false, node_kind, catalog_name FROM policies WHERE removed_at IS NULL) AS named
 WHERE node_kind = 'tree' AND catalog_name = $2 AND strpos(name, $3) > 0
 GROUP BY schema, name ORDER BY schema COLLATE "C", name COLLATE "C" LIMIT $4`;
