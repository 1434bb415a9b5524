import { Injectable } from '@nestjs/common';
import { type Page, type PageRequest, pageOf } from '../../kernel/page.js';
import { columnArrays } from '../../platform/infrastructure/column-arrays.js';
import { DatabaseSession } from '../../platform/infrastructure/database-session.js';
import {
  type Grant,
  type GrantOutcome,
  type GrantFilter,
  GrantStore,
  type NewGrant,
  type RevokeOutcome,
} from '../domain/grant.js';
import {
  type PrincipalColumns,
  principalColumns,
  principalJoins,
  principalOf,
  principalValues,
  type ResourceColumns,
  resourceOf,
  resourceValues,
} from './principal-columns.js';

type GrantRow = Omit<Grant, 'principal' | 'resource'> & PrincipalColumns & ResourceColumns;

/** An Actor out of a joined account. */
const actor = (alias: string) =>
  `CASE WHEN ${alias}.id IS NOT NULL THEN json_build_object('id', ${alias}.id, 'name', ${alias}.username) END`;

const SELECT_GRANTS = `
  SELECT g.id, ${principalColumns('g')}, g.catalog_name, g.schema_name, g.table_name, g.privileges, g.description,
         g.expires_at AS "expiresAt", ${actor('giver')} AS "grantedBy", g.granted_at AS "grantedAt",
         ${actor('revoker')} AS "revokedBy", g.revoked_at AS "revokedAt"
    FROM grants g ${principalJoins('g')}
    LEFT JOIN users giver ON giver.id = g.granted_by
    LEFT JOIN users revoker ON revoker.id = g.revoked_by`;

/** The columns in which no two live grants are equal, as in the index `grants_one_live` (migration 0020). */
const identity = (prefix: string) =>
  `coalesce(${prefix}user_id, 0), coalesce(${prefix}group_id, 0), coalesce(${prefix}engine_name, ''), ${prefix}catalog_name,
   coalesce(${prefix}schema_name, ''), coalesce(${prefix}table_name, ''), ${prefix}privileges, coalesce(${prefix}expires_at, 'infinity')`;

/** New grants out of the parameters that `values` makes; `place` counts them from 1. */
const ASKED = `
  (SELECT user_id, group_id, engine_name, catalog_name, schema_name, table_name, privileges::text[], expires_at, description, place
     FROM unnest($1::integer[], $2::integer[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::timestamptz[], $9::text[])
          WITH ORDINALITY AS row (user_id, group_id, engine_name, catalog_name, schema_name, table_name, privileges, expires_at,
                                  description, place)) AS asked`;

@Injectable()
export class PostgresGrantStore extends GrantStore {
  constructor(private readonly session: DatabaseSession) {
    super();
  }

  override async grant(grants: readonly NewGrant[], by: number | null, at: Date): Promise<GrantOutcome[]> {
    const granted: GrantOutcome[] = [];
    // After a conflict, the equal grant is read. If it was revoked in between, the insert is tried again.
    for (let left = [...grants.entries()]; left.length > 0; left = left.filter(([i]) => granted[i] === undefined)) {
      const asked = columnArrays(left.map(([, grant]) => values(grant)));
      const made = await this.session.manager.query<{ id: number }[]>(
        `INSERT INTO grants (user_id, group_id, engine_name, catalog_name, schema_name, table_name, privileges, expires_at,
                             description, granted_by, granted_at)
         SELECT user_id, group_id, engine_name, catalog_name, schema_name, table_name, privileges, expires_at,
                description, $10::integer, $11::timestamptz
           FROM ${ASKED} ORDER BY place
         ON CONFLICT (${identity('')}) WHERE revoked_at IS NULL DO NOTHING RETURNING id`,
        [...asked, by, at],
      );
      const created = new Set(made.map(({ id }) => id));
      const found = await this.session.manager.query<(GrantRow & { place: number })[]>(
        // LIMIT: each is looked up in the index, whatever statistics a table has that this transaction fills.
        `SELECT asked.place::integer AS place, equal.*
           FROM ${ASKED} CROSS JOIN LATERAL (
             ${SELECT_GRANTS} WHERE g.revoked_at IS NULL AND (${identity('g.')}) = (${identity('asked.')}) LIMIT 1) AS equal
          ORDER BY place`,
        asked,
      );
      for (const { place, ...row } of found) {
        const [i] = left[place - 1] ?? [];
        if (i !== undefined) granted[i] = { grant: toGrant(row), created: created.delete(row.id) };
      }
    }
    return granted;
  }

  override async revoke(ids: readonly number[], by: number | null, at: Date): Promise<(RevokeOutcome | null)[]> {
    const [rows] = await this.session.manager.query<[{ id: number }[], number]>(
      'UPDATE grants SET revoked_by = $2, revoked_at = $3 WHERE id = ANY ($1) AND revoked_at IS NULL RETURNING id',
      [ids, by, at],
    );
    const revoked = new Set(rows.map(({ id }) => id));
    const found = await this.session.manager.query<GrantRow[]>(`${SELECT_GRANTS} WHERE g.id = ANY ($1)`, [ids]);
    const grants = new Map(found.map((row) => [row.id, toGrant(row)]));
    return ids.map((id) => {
      const grant = grants.get(id);
      return grant === undefined ? null : { grant, revoked: revoked.delete(id) };
    });
  }

  override async find(id: number): Promise<Grant | null> {
    const [row] = await this.session.manager.query<GrantRow[]>(`${SELECT_GRANTS} WHERE g.id = $1`, [id]);
    return row === undefined ? null : toGrant(row);
  }

  override async list(filter: GrantFilter, { limit, after }: PageRequest, at: Date): Promise<Page<Grant>> {
    const { principal, catalog, schema, table, state } = filter;
    const [userId, groupId, engineName] = principal === null ? [null, null, null] : principalValues(principal);
    const rows = await this.session.manager.query<GrantRow[]>(
      `${SELECT_GRANTS}
       WHERE g.id > $1
         AND ($2::integer IS NULL OR g.user_id = $2)
         AND ($3::integer IS NULL OR g.group_id = $3)
         AND ($4::text IS NULL OR g.engine_name = $4)
         AND ($5::text IS NULL OR g.catalog_name = $5)
         AND ($6::text IS NULL OR g.schema_name = $6)
         AND ($7::text IS NULL OR g.table_name = $7)
         AND ($8 = 'all' OR $8 = CASE WHEN g.revoked_at IS NOT NULL THEN 'revoked'
                                      WHEN g.expires_at <= $9 THEN 'expired' ELSE 'live' END)
       ORDER BY g.id LIMIT $10`,
      [after ?? 0, userId, groupId, engineName, catalog, schema, table, state, at, limit + 1],
    );
    return pageOf(rows.map(toGrant), limit, ({ id }) => id);
  }
}

/** The parameters of `ASKED`. Privileges as an array's text, because PostgreSQL has no arrays of different lengths in one. */
function values({ principal, resource, privileges, expiresAt, description }: NewGrant): unknown[] {
  return [
    ...principalValues(principal),
    ...resourceValues(resource),
    `{${privileges.join(',')}}`,
    expiresAt,
    description,
  ];
}

function toGrant(row: GrantRow): Grant {
  const principal = principalOf(row);
  if (principal === null) throw new Error(`grant ${row.id} has no principal`);
  const { id, privileges, expiresAt, description, grantedBy, grantedAt, revokedBy, revokedAt } = row;
  const resource = resourceOf(row);
  return { id, principal, resource, privileges, expiresAt, description, grantedBy, grantedAt, revokedBy, revokedAt };
}
