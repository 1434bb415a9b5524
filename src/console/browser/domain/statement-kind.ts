/** Spaces, comments and parentheses before the first word of a statement. */
const BEFORE_FIRST_WORD = /^(?:\s|\(|--.*|\/\*[\s\S]*?\*\/)+/;

/** Whether a statement only reads, so that running it again changes nothing. An INSERT is not, though it has a result: the number of rows. */
export function isRepeatable(sql: string): boolean {
  const text = sql.replace(BEFORE_FIRST_WORD, '');
  return /^(?:select|with|table|values|show|desc|describe|explain(?!\s+analyze))\b/i.test(text);
}
