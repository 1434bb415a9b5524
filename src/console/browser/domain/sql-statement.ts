/** Spaces, comments and parentheses before the first word of a statement. */
const BEFORE_FIRST_WORD = /^(?:\s|\(|--.*|\/\*[\s\S]*?\*\/)+/;

/** Whether a statement only reads, so that running it again changes nothing. An INSERT is not, though it has a result: the number of rows. */
export function isRepeatable(sql: string): boolean {
  const text = sql.replace(BEFORE_FIRST_WORD, '');
  return /^(?:select|with|table|values|show|desc|describe|explain(?!\s+analyze))\b/i.test(text);
}

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
