import type {
  NamedPrincipal,
  NamedPolicyPrincipal,
  PolicyPrincipal,
  Principal,
} from '../../trino-rules/model/principal.js';
import { nodeOf, type Node } from '../../trino-rules/model/node.js';

/** A principal in the tables: one of three columns; of a policy for everyone none. */
export interface PrincipalIds {
  user_id: number | null;
  group_id: number | null;
  engine_name: string | null;
}

/** The same with its current name. */
export interface PrincipalColumns extends PrincipalIds {
  user_name: string | null;
  group_name: string | null;
}

/** Selects PrincipalColumns of the table `alias`; needs the joins below. */
export function principalColumns(alias: string): string {
  return `${alias}.user_id, u.username AS user_name, ${alias}.group_id, m.name AS group_name, ${alias}.engine_name`;
}

export function principalJoins(alias: string): string {
  return `LEFT JOIN users u ON u.id = ${alias}.user_id LEFT JOIN groups m ON m.id = ${alias}.group_id`;
}

/** The values for `user_id, group_id, engine_name`. */
export function principalValues(subject: PolicyPrincipal): [number | null, number | null, string | null] {
  return [
    subject.type === 'user' ? subject.id : null,
    subject.type === 'group' ? subject.id : null,
    subject.type === 'engine' ? subject.name : null,
  ];
}

export function subjectOf(row: PrincipalColumns): NamedPolicyPrincipal {
  return principalOf(row) ?? { type: 'everyone' };
}

/** Null: none of the three columns is set. */
export function principalOf(row: PrincipalColumns): NamedPrincipal | null {
  const principal = unnamedPrincipalOf(row);
  if (principal === null || principal.type === 'engine') return principal;
  return { ...principal, name: (principal.type === 'user' ? row.user_name : row.group_name) ?? '' };
}

/** As `principalOf`, by its id. */
export function unnamedPrincipalOf(row: PrincipalIds): Principal | null {
  if (row.user_id !== null) return { type: 'user', id: row.user_id };
  if (row.group_id !== null) return { type: 'group', id: row.group_id };
  return row.engine_name === null ? null : { type: 'engine', name: row.engine_name };
}

export interface ResourceColumns {
  catalog_name: string;
  schema_name: string | null;
  table_name: string | null;
}

export function resourceOf(row: ResourceColumns): Node {
  return nodeOf({ catalog: row.catalog_name, schema: row.schema_name, table: row.table_name });
}

/** The values for `catalog_name, schema_name, table_name`. */
export function resourceValues({ catalog, schema, table }: Node): [string | null, string | null, string | null] {
  return [catalog ?? null, schema ?? null, table ?? null];
}
