/**
 * Parses the message of PERMISSION_DENIED about a table (io.trino.spi.security.AccessDeniedException of Trino 483), such as
 * `Access Denied: Cannot select from columns [a, b] in table or view c.s.t`. Null: the message is not about a table.
 */
export function parseRefusal(message: string) {
  const match = /Access Denied: Cannot (\w+) .*?(?:table or view|table|view) ([^\s.]+)\.([^\s.]+)\.([^\s.:]+)/.exec(
    message,
  );
  if (match === null) return null;
  const [, verb = '', catalog = '', schema = '', table = ''] = match;
  const tableVerb = /^(select|insert|delete|update)$/.test(verb) ? verb.toUpperCase() : 'OWNERSHIP';
  return { privilege: verb === 'truncate' ? 'DELETE' : tableVerb, node: { catalog, schema, table } };
}
