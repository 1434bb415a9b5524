/** Rows as one array for each column: the parameters of PostgreSQL's `unnest`. All rows have as many values as the first. */
export function columnArrays(rows: readonly (readonly unknown[])[]): unknown[][] {
  return (rows[0] ?? []).map((_, column) => rows.map((row) => row[column]));
}
