import type { Privilege } from '../model/resource.js';

// Stated here once more, and not imported from the specification: what one of the two gets wrong, the proof finds.

/** The engine's table privileges, in its own order (Trino 483, file-based access control). */
export const TABLE_PRIVILEGES = [
  'SELECT',
  'INSERT',
  'DELETE',
  'UPDATE',
  'OWNERSHIP',
  'GRANT_SELECT',
] as const satisfies readonly Privilege[];

/** The schemas of the catalog `system` that the engine filters per person. */
export const FILTERED_SYSTEM_SCHEMAS = ['jdbc', 'metadata'];

/** Whether `new_user` can hold a name: the engine reads it as a replacement text before it is a pattern (seen on 483). */
export function isReplacementSafe(name: string): boolean {
  return !['$', '\\', '^', '[', ']'].some((character) => name.includes(character));
}
