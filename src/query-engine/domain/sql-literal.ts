import { NamedError } from '../../kernel/errors.js';

/** A value for a question mark. A Date is an instant; decimals are best sent as text and cast. */
export type Parameter = null | boolean | number | bigint | string | Date | Uint8Array | readonly Parameter[];

/** A parameter without a literal, such as an integer that JavaScript has already rounded (NaN has one). */
export class InvalidParameter extends NamedError {}

/**
 * The text that the engine takes for one statement: without a semicolon at its end, and with the parameters as literals
 * (Trino's EXECUTE IMMEDIATE), so that nothing has to be prepared and deallocated, and no header grows with it. Callers never
 * concatenate literals.
 *
 * @throws InvalidParameter
 */
export function statementText(sql: string, parameters: readonly Parameter[]): string {
  const statement = withoutTerminator(sql);
  if (parameters.length === 0) return statement;
  return `EXECUTE IMMEDIATE ${quoted(statement)} USING ${parameters.map(literal).join(', ')}`;
}

/**
 * Blanks and comments are captured; then quoted texts, words and signs, as in the engine's grammar (SqlBase, Trino 483). A token
 * that is never closed takes the rest of the text: the engine reports it. Two quotes in a row are read as two quoted texts.
 */
const TOKEN =
  /([ \r\n\t]+|--[^\r\n]*|\/\*[^]*?\*\/)|\/\*[^]*|'[^']*(?:'|$)|"[^"]*(?:"|$)|`[^`]*(?:`|$)|\$\$[^]*?(?:\$\$|$)|[^ \r\n\t;'"`$/-]+|[^]/g;

/**
 * Cuts one semicolon at the end, with the blanks and comments behind it: people and tools write it, the engine refuses it.
 * Everything else is the engine's to refuse, two statements and a semicolon alone, too.
 */
function withoutTerminator(sql: string): string {
  let terminator: number | null = null;
  if (sql.includes(';')) {
    for (const { 0: token, 1: hidden, index } of sql.matchAll(TOKEN)) {
      if (hidden === undefined) terminator = token === ';' ? index : null;
    }
  }
  const statement = terminator === null ? '' : sql.slice(0, terminator);
  return statement.trim() === '' ? sql : statement;
}

/** An identifier in double quotes, whatever it contains. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function literal(value: Parameter): string {
  if (value === null) return 'NULL';
  if (typeof value === 'boolean') return value ? 'TRUE' : 'FALSE';
  if (typeof value === 'bigint') return `BIGINT '${String(value)}'`;
  if (typeof value === 'number') return number(value);
  if (typeof value === 'string') return quoted(value);
  if (value instanceof Date) return `TIMESTAMP '${instant(value)} UTC'`;
  if (value instanceof Uint8Array) return `X'${Buffer.from(value).toString('hex')}'`;
  return `ARRAY[${value.map(literal).join(', ')}]`;
}

/** Beyond every bigint and every decimal of the engine, so that no integer was meant. */
const PLAINLY_DOUBLE = 1e38;

function number(value: number): string {
  if (Number.isSafeInteger(value)) return Object.is(value, -0) ? "DOUBLE '-0.0'" : String(value);
  if (Number.isInteger(value) && Math.abs(value) < PLAINLY_DOUBLE) {
    throw new InvalidParameter('a whole number beyond 2^53 may have been rounded; send it as text, with a CAST');
  }
  return `DOUBLE '${value}'`;
}

function instant(value: Date): string {
  if (Number.isNaN(value.getTime())) throw new InvalidParameter('an invalid date');
  return value.toISOString().replace('T', ' ').replace('Z', '');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** The SQL is checked by the engine; a text with NUL could not be stored. */
export function sqlProblem(sql: string): string | null {
  if (sql.trim() === '') return 'must not be blank';
  return sql.includes('\u0000') ? 'must not contain NUL' : null;
}

const MOST_PARAMETERS = 1_000;

export function parametersProblem(value: unknown): string | null {
  if (!Array.isArray(value)) return 'must be an array';
  if (value.length > MOST_PARAMETERS) return `must have at most ${MOST_PARAMETERS} values`;
  return value.every(isParameter) ? null : 'must hold null, booleans, numbers, strings, and arrays of them only';
}

function isParameter(value: unknown): value is Parameter {
  if (Array.isArray(value)) return value.every(isParameter);
  return value === null || typeof value === 'boolean' || typeof value === 'number' || typeof value === 'string';
}
