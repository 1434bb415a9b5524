import { covers, kindOf, principalIn, type Node } from '../../trino-rules/model/node.js';
import type { PolicyPrincipal, Principal } from '../../trino-rules/model/principal.js';
import type { EntryFilter } from '../domain/grant.js';

/** The columns for the principal and the node of a row in the tables `grants` and `policies`, with their types. */
const TYPE_BY_COLUMN = {
  user_id: 'integer',
  group_id: 'integer',
  engine_name: 'text',
  is_for_everyone: 'boolean',
  node_kind: 'text',
  catalog_name: 'text',
  schema_name: 'text',
  table_name: 'text',
  as_user_id: 'integer',
  as_group_id: 'integer',
  as_engine_name: 'text',
  is_as_everyone: 'boolean',
} as const;

export const ENTRY_COLUMNS = Object.keys(TYPE_BY_COLUMN);
export const ENTRY_TYPES = Object.values(TYPE_BY_COLUMN);

export function entryColumnValues(principal: PolicyPrincipal, node: Node): unknown[] {
  const { catalog = null, schema = null, table, routine = null } = node;
  const kind = kindOf(node);
  const namedPrincipal = principalIn(node);
  return [
    ...policyPrincipalValues(principal),
    kind === 'catalog' || kind === 'schema' || kind === 'table' ? 'tree' : kind,
    catalog,
    schema,
    table ?? routine,
    ...(namedPrincipal === undefined ? [null, null, null, false] : policyPrincipalValues(namedPrincipal)),
  ];
}

type PrincipalValues = [user: number | null, group: number | null, engine: string | null];

/** The values of a principal's columns: `user_id`, `group_id` and `engine_name`. */
export function principalValues(principal: Principal): PrincipalValues {
  switch (principal.type) {
    case 'user':
      return [principal.id, null, null];
    case 'group':
      return [null, principal.id, null];
    case 'engine':
      return [null, null, principal.name];
  }
}

function policyPrincipalValues(principal: PolicyPrincipal): [...PrincipalValues, boolean] {
  return principal.type === 'everyone' ? [null, null, null, true] : [...principalValues(principal), false];
}

/** Whether a principal's JSON contains the current name besides the id. Snapshots for rules need only the id. */
export type NamesInJson = 'with-names' | 'ids-only';

/**
 * SQL for a PolicyPrincipal or, with the name, a NamedPolicyPrincipal as JSON. Constraints of the tables ensure that all three columns are
 * null only for everyone. The group is tested last, because `group_id` is set for every row of `group_members`.
 * @param prefix of the columns `user_id`, `group_id` and `engine_name`, such as `g.`
 */
export function principalJson(prefix: string, names: NamesInJson): string {
  const nameSql = (table: string, column: string, id: string) =>
    names === 'with-names' ? `, 'name', (SELECT ${column} FROM ${table} WHERE id = ${prefix}${id})` : '';
  return `CASE
    WHEN ${prefix}user_id IS NOT NULL THEN json_build_object('type', 'user', 'id', ${prefix}user_id${nameSql('users', 'username', 'user_id')})
    WHEN ${prefix}engine_name IS NOT NULL THEN json_build_object('type', 'engine', 'name', ${prefix}engine_name)
    WHEN ${prefix}group_id IS NOT NULL THEN json_build_object('type', 'group', 'id', ${prefix}group_id${nameSql('groups', 'name', 'group_id')})
    ELSE json_build_object('type', 'everyone') END`;
}

/** SQL for the node of a grant or a policy as JSON. @param column SQL for the name of a policy's column */
export function resourceJson(alias: string, names: NamesInJson, column = 'NULL::text'): string {
  const isRoutineSql = `${alias}.node_kind = 'routine'`;
  return `json_strip_nulls(json_build_object(
    'catalog', ${alias}.catalog_name, 'schema', ${alias}.schema_name,
    'table', CASE WHEN NOT ${isRoutineSql} THEN ${alias}.table_name END, 'routine', CASE WHEN ${isRoutineSql} THEN ${alias}.table_name END,
    'engine', CASE WHEN ${alias}.node_kind = 'engine' THEN true END,
    'as', CASE WHEN ${alias}.node_kind = 'acting' THEN ${principalJson(`${alias}.as_`, names)} END,
    'queries', CASE WHEN ${alias}.node_kind = 'queries' THEN ${principalJson(`${alias}.as_`, names)} END,
    'column', ${column}))`;
}

/** The number of parameters that `filterValues` makes. A statement with a filter numbers its own parameters after these. */
export const FILTER_PARAMETERS = 18;

/** SQL condition that a row of `grants` or `policies` matches a filter. The first parameters must be those of `filterValues`. `column`: SQL for a policy's column. */
export const filterCondition = (row: string, column = 'NULL::text') => `
      ($1::integer IS NULL OR ${row}.user_id = $1)
  AND ($2::integer IS NULL OR ${row}.group_id = $2)
  AND ($3::text IS NULL OR ${row}.engine_name = $3)
  AND ($4::boolean IS NULL OR ${row}.is_for_everyone)
  AND ($5::text IS NULL OR ${row}.catalog_name = $5)
  AND ($6::text IS NULL OR ${row}.schema_name = $6)
  AND ($7::text IS NULL OR (${row}.table_name = $7 AND ${row}.node_kind <> 'routine'))
  AND ($8::text IS NULL OR (${row}.table_name = $8 AND ${row}.node_kind = 'routine'))
  AND ($9::text IS NULL OR node_level(${row}.node_kind, ${row}.schema_name, ${row}.table_name) = $9)
  AND ($10::integer IS NULL OR ${row}.as_user_id = $10)
  AND ($11::integer IS NULL OR ${row}.as_group_id = $11)
  AND ($12::text IS NULL OR ${row}.as_engine_name = $12)
  AND ($13::boolean IS NULL OR ${row}.is_as_everyone)
  AND ($14::boolean IS NULL
    OR ($14 AND ${row}.node_kind = 'everything')
    OR (${row}.node_kind = 'tree' AND ${row}.catalog_name = $15
      AND (${row}.schema_name IS NULL OR ${row}.schema_name = $16)
      AND (${row}.table_name IS NULL OR ${row}.table_name = $17)))
  AND ($18::text IS NULL
    OR strpos(caseless(concat_ws('.', ${row}.catalog_name, ${row}.schema_name, ${row}.table_name, ${column})), caseless($18)) > 0
    OR strpos(caseless(${row}.engine_name), caseless($18)) > 0 OR strpos(caseless(${row}.as_engine_name), caseless($18)) > 0
    OR ((${row}.is_for_everyone OR ${row}.is_as_everyone) AND strpos('everyone', caseless($18)) > 0)
    OR (${row}.node_kind IN ('everything', 'engine') AND strpos(${row}.node_kind, caseless($18)) > 0)
    OR EXISTS (SELECT FROM users WHERE id IN (${row}.user_id, ${row}.as_user_id) AND strpos(caseless(username), caseless($18)) > 0)
    OR EXISTS (SELECT FROM groups WHERE id IN (${row}.group_id, ${row}.as_group_id) AND strpos(caseless(name), caseless($18)) > 0))`;

export function filterValues(filter: EntryFilter, metadataCatalog: string | null): unknown[] {
  const { principal, catalog, schema, table, routine, kind, targetPrincipal, covering, text } = filter;
  // Grants and policies on everything do not apply in `system` and in the metadata catalog.
  const isUnderEverything = covering ? covers({}, covering) && covering.catalog !== metadataCatalog : null;
  return [
    ...principalFilterValues(principal),
    ...[catalog, schema, table, routine, kind],
    ...principalFilterValues(targetPrincipal),
    ...[isUnderEverything, covering?.catalog, covering?.schema, covering?.table, text],
  ];
}

/** The values that the columns of a row's principal must have. Null matches every value of a column. */
function principalFilterValues(principal: PolicyPrincipal | null | undefined): unknown[] {
  if (!principal) return [null, null, null, null];
  const [user, group, engine, isEveryone] = policyPrincipalValues(principal);
  return [user, group, engine, isEveryone || null];
}
