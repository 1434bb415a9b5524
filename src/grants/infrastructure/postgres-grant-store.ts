import { Injectable } from '@nestjs/common';
import { type Page, type PageRequest, pageOf } from '../../kernel/page.js';
import { DatabaseSession } from '../../platform/infrastructure/database-session.js';
import { type Grant, type GrantFilter, GrantStore, type NewGrant } from '../domain/grant.js';
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

/** As in the index `grants_one_live` (migration 0020). */
const SAME_GRANT = `coalesce(user_id, 0), coalesce(group_id, 0), coalesce(engine_name, ''),
  catalog_name, coalesce(schema_name, ''), coalesce(table_name, ''), privileges, coalesce(expires_at, 'infinity')`;

@Injectable()
export class PostgresGrantStore extends GrantStore {
  constructor(private readonly session: DatabaseSession) {
    super();
  }

  override async grant(grant: NewGrant, by: number | null, at: Date): Promise<{ grant: Grant; created: boolean }> {
    const values = [...identity(grant), grant.description, by, at];
    // After a conflict, the equal grant is read. If it was revoked in between, the insert is tried again.
    for (;;) {
      const [made] = await this.session.manager.query<{ id: number }[]>(
        `INSERT INTO grants (user_id, group_id, engine_name, catalog_name, schema_name, table_name, privileges, expires_at,
                             description, granted_by, granted_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
         ON CONFLICT (${SAME_GRANT}) WHERE revoked_at IS NULL DO NOTHING RETURNING id`,
        values,
      );
      const found = made === undefined ? await this.findEqual(grant) : await this.find(made.id);
      if (found !== null) return { grant: found, created: made !== undefined };
    }
  }

  override async revoke(id: number, by: number | null, at: Date): Promise<{ grant: Grant; revoked: boolean } | null> {
    const [rows] = await this.session.manager.query<[unknown[], number]>(
      'UPDATE grants SET revoked_by = $2, revoked_at = $3 WHERE id = $1 AND revoked_at IS NULL RETURNING id',
      [id, by, at],
    );
    const grant = await this.find(id);
    return grant === null ? null : { grant, revoked: rows.length > 0 };
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

  private async findEqual(grant: NewGrant): Promise<Grant | null> {
    const [row] = await this.session.manager.query<GrantRow[]>(
      `${SELECT_GRANTS}
       WHERE g.revoked_at IS NULL
         AND g.user_id IS NOT DISTINCT FROM $1 AND g.group_id IS NOT DISTINCT FROM $2 AND g.engine_name IS NOT DISTINCT FROM $3
         AND g.catalog_name = $4 AND g.schema_name IS NOT DISTINCT FROM $5 AND g.table_name IS NOT DISTINCT FROM $6
         AND g.privileges = $7 AND g.expires_at IS NOT DISTINCT FROM $8`,
      identity(grant),
    );
    return row === undefined ? null : toGrant(row);
  }
}

/** The columns in which no two live grants are equal. */
function identity({ principal, resource, privileges, expiresAt }: NewGrant): unknown[] {
  return [...principalValues(principal), ...resourceValues(resource), privileges, expiresAt];
}

function toGrant(row: GrantRow): Grant {
  const principal = principalOf(row);
  if (principal === null) throw new Error(`grant ${row.id} has no principal`);
  const { id, privileges, expiresAt, description, grantedBy, grantedAt, revokedBy, revokedAt } = row;
  const resource = resourceOf(row);
  return { id, principal, resource, privileges, expiresAt, description, grantedBy, grantedAt, revokedBy, revokedAt };
}
