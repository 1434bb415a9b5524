import type { PolicyPrincipal } from '../../trino-rules/model/principal.js';
import type { EntryFilter } from '../domain/entry-filter.js';
import { policyPrincipalValues } from './principal-columns.js';

/** How many parameters `filterValues` makes: the ones of a statement that come after them have higher numbers. */
export const FILTER_PARAMETERS = 18;

/** The condition of a filter on a row of `grants` or `policies`, with the parameters of `filterValues` as its first ones. */
export const filterCondition = (row: string) => `
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
    OR ${row}.node_kind = 'everything'
    OR (${row}.node_kind = 'tree' AND ${row}.catalog_name = $15
      AND (${row}.schema_name IS NULL OR ${row}.schema_name = $16)
      AND (${row}.table_name IS NULL OR ${row}.table_name = $17)))
  AND ($18::text IS NULL
    OR strpos(lower(concat_ws('.', ${row}.catalog_name, ${row}.schema_name, ${row}.table_name)), lower($18)) > 0
    OR strpos(lower(${row}.engine_name), lower($18)) > 0
    OR (${row}.is_for_everyone AND strpos('everyone', lower($18)) > 0)
    OR (${row}.node_kind = 'everything' AND strpos('everything', lower($18)) > 0)
    OR EXISTS (SELECT FROM users WHERE id = ${row}.user_id AND strpos(lower(username), lower($18)) > 0)
    OR EXISTS (SELECT FROM groups WHERE id = ${row}.group_id AND strpos(lower(name), lower($18)) > 0))`;

export function filterValues(filter: EntryFilter): unknown[] {
  const { principal, catalog, schema, table, routine, kind, named, covering, text } = filter;
  return [
    ...wanted(principal),
    ...[catalog, schema, table, routine, kind],
    ...wanted(named),
    ...[covering === null ? null : true, covering?.catalog ?? null, covering?.schema ?? null, covering?.table ?? null],
    text,
  ];
}

/** What a principal's columns must be; null: anything. */
function wanted(principal: PolicyPrincipal | null): unknown[] {
  if (principal === null) return [null, null, null, null];
  const [user, group, engine, isEveryone] = policyPrincipalValues(principal);
  return [user, group, engine, isEveryone || null];
}
