import { Injectable } from '@nestjs/common';
import { DatabaseSession } from '../platform/database/database-session.js';
import { namesOf } from '../trino-rules/model/node.js';
import {
  type ChildrenRequest,
  levelBelow,
  type NamedChild,
  type NamedTable,
  type TablesRequest,
} from './domain/catalog.js';

const COLUMN = { catalog: 'catalog_name', schema: 'schema_name', table: 'table_name' } as const;

/** $1: now; $2 and $3: the catalog and the schema; $4: a part of the name; $5: the name before; $6: how many. Of routines, the schema counts. */
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

/** $1: now; $2: the catalog; $3: a part of the name; $4: how many. */
const TABLES = `SELECT schema, name, count(*) FILTER (WHERE is_grant)::int AS grants, count(*) FILTER (WHERE NOT is_grant)::int AS policies
  FROM (SELECT schema_name AS schema, table_name AS name, true AS is_grant, node_kind, catalog_name FROM grants
         WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1)
        UNION ALL SELECT schema_name, table_name, false, node_kind, catalog_name FROM policies WHERE removed_at IS NULL) AS named
 WHERE node_kind = 'tree' AND catalog_name = $2 AND strpos(name, $3) > 0
 GROUP BY schema, name ORDER BY schema COLLATE "C", name COLLATE "C" LIMIT $4`;

/** Reads which nodes live grants and policies name. */
@Injectable()
export class NamedNodes {
  constructor(private readonly session: DatabaseSession) {}

  /** At most `limit` and one more. */
  async children({ under, q, after, limit }: ChildrenRequest, at: Date): Promise<NamedChild[]> {
    const level = levelBelow(under);
    if (level === null) return [];
    const [catalog = null, schema = null] = namesOf(under);
    return this.session.manager.query<NamedChild[]>(childrenIn(COLUMN[level]), [
      at,
      catalog,
      schema,
      q,
      after,
      limit + 1,
    ]);
  }

  /** Of a catalog, ordered by schema and name. */
  async tables({ catalog, q, limit }: TablesRequest, at: Date): Promise<NamedTable[]> {
    return this.session.manager.query<NamedTable[]>(TABLES, [at, catalog, q, limit]);
  }
}
