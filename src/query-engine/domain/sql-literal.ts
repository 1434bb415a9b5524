import { NamedError } from '../../kernel/errors.js';

/** A value for a question mark in SQL. A Date is an instant. Decimals should be sent as text and cast in the SQL. */
export type Parameter = null | boolean | number | bigint | string | Date | Uint8Array | readonly Parameter[];

/** A parameter that has no exact literal, such as an integer that JavaScript has already rounded. */
export class InvalidParameter extends NamedError {}

/**
 * The text of one statement for the engine, without a semicolon at its end. Parameters become literals of an EXECUTE IMMEDIATE, so that
 * nothing must be prepared and deallocated, and no header grows. Callers never concatenate literals.
 * @throws InvalidParameter
 */
export function statementText(sql: string, parameters: readonly Parameter[]): string {
  const statement = withoutTerminator(sql);
  if (parameters.length === 0) return statement;
  return `EXECUTE IMMEDIATE ${quotedText(statement)} USING ${parameters.map(sqlLiteral).join(', ')}`;
}

/**
 * Matches one token of the engine's grammar (SqlBase, Trino 483): blanks and comments (captured), quoted texts, words, signs. An unclosed
 * token extends to the end of the text, and the engine reports it. Two quotes in a row are read as two quoted texts.
 */
const TOKEN =
  /([ \r\n\t]+|--[^\r\n]*|\/\*[^]*?\*\/)|\/\*[^]*|'[^']*(?:'|$)|"[^"]*(?:"|$)|`[^`]*(?:`|$)|\$\$[^]*?(?:\$\$|$)|[^ \r\n\t;'"`$/-]+|[^]/g;

/**
 * Removes one semicolon at the end, with the blanks and comments after it: people and tools write it, but the engine refuses it. Leaves
 * other errors, such as two statements or a lone semicolon, to the engine.
 */
function withoutTerminator(sql: string): string {
  let terminatorIndex: number | null = null;
  if (sql.includes(';')) {
    for (const { 0: token, 1: blankOrComment, index } of sql.matchAll(TOKEN)) {
      if (blankOrComment === undefined) terminatorIndex = token === ';' ? index : null;
    }
  }
  const statement = terminatorIndex === null ? '' : sql.slice(0, terminatorIndex);
  return statement.trim() === '' ? sql : statement;
}

/** An identifier in double quotes, whatever it contains. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function sqlLiteral(value: Parameter): string {
  if (value === null) return 'NULL';
  if (typeof value === 'boolean') return value ? 'TRUE' : 'FALSE';
  if (typeof value === 'bigint') return `BIGINT '${String(value)}'`;
  if (typeof value === 'number') return numberLiteral(value);
  if (typeof value === 'string') return quotedText(value);
  if (value instanceof Date) return `TIMESTAMP '${timestampText(value)} UTC'`;
  if (value instanceof Uint8Array) return `X'${Buffer.from(value).toString('hex')}'`;
  return `ARRAY[${value.map(sqlLiteral).join(', ')}]`;
}

/** Whole numbers from this one on are too large for the engine's bigint and decimal types, so they are written as doubles. */
const MIN_CERTAIN_DOUBLE = 1e38;

function numberLiteral(value: number): string {
  if (Number.isSafeInteger(value)) return Object.is(value, -0) ? "DOUBLE '-0.0'" : String(value);
  if (Number.isInteger(value) && Math.abs(value) < MIN_CERTAIN_DOUBLE) {
    throw new InvalidParameter('a whole number beyond 2^53 may have been rounded; send it as text, with a CAST');
  }
  return `DOUBLE '${value}'`;
}

function timestampText(value: Date): string {
  if (Number.isNaN(value.getTime())) throw new InvalidParameter('an invalid date');
  return value.toISOString().replace('T', ' ').replace('Z', '');
}

function quotedText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** The problem of a SQL text that cannot be stored, or null. The engine checks the syntax. */
export function sqlProblem(sql: string): string | null {
  if (sql.trim() === '') return 'must not be blank';
  return sql.includes('\u0000') ? 'must not contain NUL' : null;
}

const MAX_PARAMETERS = 1_000;

export function parametersProblem(value: unknown): string | null {
  if (!Array.isArray(value)) return 'must be an array';
  if (value.length > MAX_PARAMETERS) return `must have at most ${MAX_PARAMETERS} values`;
  return value.every(isParameter) ? null : 'must hold null, booleans, numbers, strings, and arrays of them only';
}

function isParameter(value: unknown): value is Parameter {
  if (Array.isArray(value)) return value.every(isParameter);
  return value === null || typeof value === 'boolean' || typeof value === 'number' || typeof value === 'string';
}
