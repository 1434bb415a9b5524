import type { EngineNode } from '../../grants/domain/admission-ports.js';
import type { EngineError } from './engine-error.js';
import { identifier } from './sql-literal.js';

/** A statement that the engine finds valid if it would accept the filter or the mask; null: the policy is not on one table. */
export function expressionCheck(
  kind: 'row_filter' | 'column_mask',
  { catalog, schema, table, column }: EngineNode,
  expression: string,
): string | null {
  const names = [catalog, schema, table].filter((name) => name !== undefined);
  if (names.length < 3) return null;
  const from = names.map(identifier).join('.');
  if (kind === 'row_filter') return `EXPLAIN (TYPE VALIDATE) SELECT 1 FROM ${from} WHERE (${expression})`;
  return column === undefined ? null : maskCheck(from, identifier(column), expression);
}

/**
 * The condition in WHERE admits only a scalar. The step of the recursion must be coercible to the type of its base, the column: the
 * engine checks masks by the same coercion.
 */
function maskCheck(from: string, column: string, expression: string): string {
  const mask = `SELECT (${expression}) FROM ${from} WHERE (${expression}) IS NULL`;
  return (
    `EXPLAIN (TYPE VALIDATE) WITH RECURSIVE ${BOTH} (masked) AS (SELECT ${column} FROM ${from} UNION ALL ` +
    `SELECT m.masked FROM ${BOTH} CROSS JOIN (${mask}) m (masked)) SELECT 1 FROM ${BOTH}`
  );
}

/** A name that no table in an expression has. */
const BOTH = '"mask of grantline"';

/** Errors that do not concern the expression: missing names, which are reported elsewhere, and denials. */
const NOT_THE_EXPRESSION = [
  'PERMISSION_DENIED',
  'CATALOG_NOT_FOUND',
  'SCHEMA_NOT_FOUND',
  'TABLE_NOT_FOUND',
  'NOT_SUPPORTED',
];

const OTHER_TYPE =
  /^recursion step relation output type \((.*)\) is not coercible to recursion base relation output type \((.*)\) at column 1$/s;

/** A sentence on why the engine refuses the expression, by its error for the statement; null: the error is about something else. */
export function expressionRefusal({ kind, name, message }: EngineError): string | null {
  if (kind !== 'USER_ERROR' || NOT_THE_EXPRESSION.includes(name)) return null;
  // The position is removed, because it counts in the statement around the expression.
  const text = message.replace(/^line \d+:\d+: /, '');
  const [, given, due] = OTHER_TYPE.exec(text) ?? [];
  if (given !== undefined && due !== undefined)
    return `the expression gives ${given}, which the engine does not take for the column's ${due}`;
  return `the engine cannot read the expression: ${text}`;
}
