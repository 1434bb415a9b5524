import { resourceNameProblem } from '../../kernel/name.js';
import type { ForeignExpression } from '../check/foreign-rules.js';
import type { ColumnRule } from '../../trino-rules/document/rules-document.js';
import { policyExpressionProblem } from '../../trino-rules/model/sql-expression.js';

/** Quoted text, in which line breaks mean themselves, or white space between tokens. */
const QUOTED_OR_SPACE = /'(?:[^']|'')*'|"(?:[^"]|"")*"|[ \t\r\n]+/g;

/** The same SQL without line breaks and tabs outside quotes, which no policy holds. A comment that ends with its line stays refused. */
export function inOneLine(sql: string): string {
  return sql.includes('--')
    ? sql
    : sql.replace(QUOTED_OR_SPACE, (found) => (/^(?:['"]| +$)/.test(found) ? found : ' '));
}

/**
 * Words of which the result can depend on the identity that an expression is given: those of sub-queries, which are checked as that. The
 * current user is the session's under any identity (seen on 483).
 */
const OF_IDENTITY = /\b(?:current_(?!(?:user|date|time|timestamp)\b)[a-z_]+|select|table|values|with)\b/i;

/** Why policies cannot restrict as these expressions and columns do; null: they can. */
export function policyProblem(
  expressions: readonly ForeignExpression[],
  columns: readonly ColumnRule[],
): string | null {
  for (const { text, runsAs } of expressions) {
    const problem = policyExpressionProblem(inOneLine(text));
    if (problem !== null) return `no policy can hold its SQL: ${problem}`;
    if (runsAs !== null && OF_IDENTITY.test(text))
      return `its SQL is evaluated as ${runsAs}, and that of a policy as the user who asks`;
  }
  const column = columns.find(({ name }) => resourceNameProblem(name) !== null);
  return column === undefined
    ? null
    : `no policy can name the column ${JSON.stringify(column.name)}: it ${resourceNameProblem(column.name) ?? ''}`;
}
