import type { EngineNode } from '../../grants/domain/admission-ports.js';
import type { EngineError } from './engine-error.js';
import { identifier } from './sql-literal.js';

/** An SQL statement that is valid only if the engine would accept the expression as a filter or mask; null: the node is not one table. */
export function expressionCheck(
  kind: 'row_filter' | 'column_mask',
  { catalog, schema, table, column }: EngineNode,
  expression: string,
): string | null {
  const tablePath = [catalog, schema, table].filter((name) => name !== undefined);
  if (tablePath.length < 3) return null;
  const tableName = tablePath.map(identifier).join('.');
  if (kind === 'row_filter') return `EXPLAIN (TYPE VALIDATE) SELECT 1 FROM ${tableName} WHERE (${expression})`;
  return column === undefined ? null : maskCheck(tableName, identifier(column), expression);
}

/**
 * An SQL statement that is valid only for a usable mask: WHERE accepts only a scalar, and the recursive query accepts only a type
 * that can be coerced to the column's type. The engine checks masks by the same coercion.
 */
function maskCheck(tableName: string, column: string, expression: string): string {
  const maskQuery = `SELECT (${expression}) FROM ${tableName} WHERE (${expression}) IS NULL`;
  return (
    `EXPLAIN (TYPE VALIDATE) WITH RECURSIVE ${RECURSIVE_NAME} (masked) AS (SELECT ${column} FROM ${tableName} UNION ALL ` +
    `SELECT m.masked FROM ${RECURSIVE_NAME} CROSS JOIN (${maskQuery}) m (masked)) SELECT 1 FROM ${RECURSIVE_NAME}`
  );
}

/** Name of the recursive query, chosen so that no table in an expression has the same name. */
const RECURSIVE_NAME = '"mask of grantline"';

/** Names of errors that do not concern the expression: missing names, which are reported elsewhere, and denials. */
const UNRELATED_ERRORS = [
  'PERMISSION_DENIED',
  'CATALOG_NOT_FOUND',
  'SCHEMA_NOT_FOUND',
  'TABLE_NOT_FOUND',
  'NOT_SUPPORTED',
];

const TYPE_MISMATCH =
  /^recursion step relation output type \((.*)\) is not coercible to recursion base relation output type \((.*)\) at column 1$/s;

/** A sentence on why the engine refuses the expression, from the error of the check. Null: the error does not concern the expression. */
export function expressionRefusal({ kind, name, message }: EngineError): string | null {
  if (kind !== 'USER_ERROR' || UNRELATED_ERRORS.includes(name)) return null;
  // The position is removed, because it is a position in the checking statement, not in the expression.
  const text = message.replace(/^line \d+:\d+: /, '');
  const [, expressionType, columnType] = TYPE_MISMATCH.exec(text) ?? [];
  if (expressionType !== undefined && columnType !== undefined)
    return `the expression gives ${expressionType}, which the engine does not take for the column's ${columnType}`;
  return `the engine cannot read the expression: ${text}`;
}
