import type { NamedPrincipal, NamedSubject, PolicySubject } from '../../trino-rules/model/principal.js';
import { nodeOf } from '../../trino-rules/model/node.js';
import type { Resource } from '../../trino-rules/model/resource.js';

/** A principal in the tables: one of three columns, with its current name. */
export interface PrincipalColumns {
  user_id: number | null;
  user_name: string | null;
  group_id: number | null;
  group_name: string | null;
  engine_name: string | null;
}

/** Selects PrincipalColumns of the table `alias`; needs the joins below. */
export function principalColumns(alias: string): string {
  return `${alias}.user_id, u.username AS user_name, ${alias}.group_id, m.name AS group_name, ${alias}.engine_name`;
}

export function principalJoins(alias: string): string {
  return `LEFT JOIN users u ON u.id = ${alias}.user_id LEFT JOIN groups m ON m.id = ${alias}.group_id`;
}

/** The values for `user_id, group_id, engine_name`. */
export function principalValues(subject: PolicySubject): [number | null, number | null, string | null] {
  return [
    subject.type === 'user' ? subject.id : null,
    subject.type === 'group' ? subject.id : null,
    subject.type === 'engine' ? subject.name : null,
  ];
}

export function subjectOf(row: PrincipalColumns): NamedSubject {
  return principalOf(row) ?? { type: 'everyone' };
}

/** Null: none of the three columns is set. */
export function principalOf(row: PrincipalColumns): NamedPrincipal | null {
  if (row.user_id !== null) return { type: 'user', id: row.user_id, name: row.user_name ?? '' };
  if (row.group_id !== null) return { type: 'group', id: row.group_id, name: row.group_name ?? '' };
  return row.engine_name === null ? null : { type: 'engine', name: row.engine_name };
}

export interface ResourceColumns {
  catalog_name: string;
  schema_name: string | null;
  table_name: string | null;
}

export function resourceOf(row: ResourceColumns): Resource {
  return nodeOf({ catalog: row.catalog_name, schema: row.schema_name, table: row.table_name });
}

/** The values for `catalog_name, schema_name, table_name`. */
export function resourceValues({ catalog, schema, table }: Resource): [string, string | null, string | null] {
  return [catalog, schema ?? null, table ?? null];
}
