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
