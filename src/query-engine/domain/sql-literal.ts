import { NamedError } from '../../kernel/named-error.js';

/** A value for a question mark. A Date is an instant; decimals are best sent as text and cast. */
export type Parameter = null | boolean | number | bigint | string | Date | Uint8Array | readonly Parameter[];

/** A parameter without a literal, such as an integer that JavaScript has already rounded (NaN has one). */
export class InvalidParameter extends NamedError {}

/**
 * One statement with its parameters as literals (Trino's EXECUTE IMMEDIATE), so that nothing has to be prepared and
 * deallocated, and no header grows with it. Callers never concatenate literals.
 *
 * @throws InvalidParameter
 */
export function withParameters(sql: string, parameters: readonly Parameter[]): string {
  if (parameters.length === 0) return sql;
  return `EXECUTE IMMEDIATE ${quoted(sql)} USING ${parameters.map(literal).join(', ')}`;
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
