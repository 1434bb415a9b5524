/** A name as SQL writes it: in double quotes unless it is plain. */
export function quoted(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}

/** Names as SQL and the API write them, with dots between. */
export function sqlPath(names: readonly string[]): string {
  return names.map(quoted).join('.');
}
