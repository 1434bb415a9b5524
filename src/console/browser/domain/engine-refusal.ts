/** The access that the engine refused, as far as its message shows it. */
interface RefusedAccess {
  privilege: string;
  node: { catalog: string; schema: string; table: string };
}

const BY_VERB: Readonly<Record<string, string>> = {
  select: 'SELECT',
  insert: 'INSERT',
  delete: 'DELETE',
  truncate: 'DELETE',
  update: 'UPDATE',
};

/**
 * Reads the text of PERMISSION_DENIED about a table (io.trino.spi.security.AccessDeniedException of Trino 483), such as
 * `Access Denied: Cannot select from columns [a, b] in table or view c.s.t`. Null: it is about something else.
 */
export function readRefusal(message: string): RefusedAccess | null {
  const found = /Access Denied: Cannot (\w+) .*?(?:table or view|table|view) ([^\s.]+)\.([^\s.]+)\.([^\s.:]+)/.exec(
    message,
  );
  if (found === null) return null;
  const [, verb = '', catalog = '', schema = '', table = ''] = found;
  return { privilege: BY_VERB[verb] ?? 'OWNERSHIP', node: { catalog, schema, table } };
}
