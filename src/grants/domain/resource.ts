/**
 * A node of the tree catalog ⊃ schema ⊃ table; what is left out means everything below.
 * Names are exact and lower-case, 1 to 128 characters, any character but control characters. A `table` has a `schema`.
 */
export interface Resource {
  catalog: string;
  schema?: string;
  table?: string;
}

/** What a column mask or a hidden column names: one column name, in everything below the node. */
export interface ColumnResource extends Resource {
  column: string;
}

/** Why `name` cannot be a catalog, schema, table or column; null when it can. The engine knows such names in lower case only. */
export function nameProblem(name: string): string | null {
  if (name === '' || Array.from(name).length > 128) return 'must have 1 to 128 characters';
  if (/[\p{Cc}\p{Cs}]/u.test(name)) return 'must not hold control characters';
  if (name !== name.toLowerCase()) return 'must be lower-case, as the engine has it';
  return null;
}

/**
 * Why nobody may be given anything on `resource`, and no policy can hold there; null when it may be. The engine lets whoever
 * may enter a catalog read its `information_schema`, filtered, whatever the rules say (seen on 483).
 */
export function closedProblem({ catalog, schema }: Resource, metadataCatalog: string | null): string | null {
  if (catalog === metadataCatalog) return `nobody may be given anything in ${catalog}, the service's own catalog`;
  if (catalog === 'system') return 'nobody may be given anything in the catalog system';
  if (schema === 'information_schema') return 'the engine keeps information_schema itself; no rule holds there';
  return null;
}
