import { types } from 'node:util';

/** The unique constraint or index that an insert or update ran into (SQLSTATE 23505), as PostgreSQL names it; null: it was something else. */
export function violatedConstraint(error: unknown): string | null {
  const cause: unknown = types.isNativeError(error) && 'driverError' in error ? error.driverError : error;
  if (!types.isNativeError(cause) || !('code' in cause) || cause.code !== '23505') return null;
  return 'constraint' in cause && typeof cause.constraint === 'string' ? cause.constraint : null;
}
