import type { Parameter } from './sql-literal.js';

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
