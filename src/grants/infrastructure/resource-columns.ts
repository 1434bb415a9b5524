import type { Resource } from '../../trino-rules/model/resource.js';

export interface ResourceColumns {
  catalog_name: string;
  schema_name: string | null;
  table_name: string | null;
}

export function resourceOf({
  catalog_name: catalog,
  schema_name: schema,
  table_name: table,
}: ResourceColumns): Resource {
  return { catalog, ...(schema === null ? {} : { schema }), ...(table === null ? {} : { table }) };
}

/** The values for `catalog_name, schema_name, table_name`. */
export function resourceValues({ catalog, schema, table }: Resource): [string, string | null, string | null] {
  return [catalog, schema ?? null, table ?? null];
}
