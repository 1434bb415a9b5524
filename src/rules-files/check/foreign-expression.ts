import { syntaxProblem } from '../../trino-rules/model/sql-expression.js';
import type { ForeignExpression } from './foreign-rules.js';

/**
 * What can depend on the identity that an expression is given: sub-queries, and functions of catalogs, which are checked as that. The
 * current user is the session's under any identity (seen on 483).
 */
const OF_IDENTITY =
  /\b(?:current_(?!(?:user|date|time|timestamp)\b)[a-z_]+|select|table|values|with(?!\s+time\s+zone\b))\b|[.]\s*(?:\w+|"[^"]*")\s*\(/i;

const QUOTED = /'(?:[^']|'')*'|"(?:[^"]|"")*"/g;
/** Quoted text, in which line breaks mean themselves, or white space between tokens. */
const QUOTED_OR_SPACE = new RegExp(`${QUOTED.source}|[ \\t\\r\\n]+`, 'g');
const QUOTED_OR_BLANK = new RegExp(`${QUOTED.source}|--[^\\r\\n]*|\\/\\*[^]*?\\*\\/|[\\t\\r\\n]`, 'g');
/** In a comment, a quote begins nothing. */
const COMMENT = /--|\/\*/;

/** Whether another identity than the user's can change what it answers. */
export function isOfIdentity({ text, runsAs }: ForeignExpression): boolean {
  if (runsAs === null) return false;
  // What stands in quotes is no word of SQL.
  const words = COMMENT.test(text) ? text : text.replace(QUOTED, (quoted) => quoted.charAt(0).repeat(2));
  return OF_IDENTITY.test(words);
}

/** The same SQL without line breaks and tabs outside quotes, which no policy holds. A comment may end with its line: there, it stays. */
export function inOneLine(sql: string): string {
  return COMMENT.test(sql) ? sql : sql.replace(QUOTED_OR_SPACE, (found) => (/^(?:['"]| +$)/.test(found) ? found : ' '));
}

/** Why the engine reads it as no expression, with places in the text. Unlike in a policy, comments and line breaks are allowed. */
export function foreignSyntaxProblem(sql: string): string | null {
  const blank = (found: string): string =>
    /^['"]/.test(found) ? found.replace(/[^'"]/g, '_') : ' '.repeat(found.length);
  return syntaxProblem(sql.replace(QUOTED_OR_BLANK, blank));
}
