import type { TablePrivilege } from '../document/rules-document.js';
import type { Privilege } from '../model/privilege.js';
import type { Node } from '../model/node.js';
import type { SnapshotGrant, SnapshotSettings } from '../model/snapshot.js';

// This file repeats facts of the model on purpose, so that the proof finds an error in either place (record 0006).

/** The engine's table privileges, in its own order (Trino 483, file-based access control). */
export const TABLE_PRIVILEGES = [
  'SELECT',
  'INSERT',
  'DELETE',
  'UPDATE',
  'OWNERSHIP',
  'GRANT_SELECT',
] as const satisfies readonly TablePrivilege[];

/** A right over data in rules: a privilege of table rules, or `owner` in schema rules. */
export type DataRight = (typeof TABLE_PRIVILEGES)[number] | 'owner';

export const DATA_RIGHTS: readonly DataRight[] = [...TABLE_PRIVILEGES, 'owner'];

export type RoutineKind = 'function' | 'procedure';

export const ROUTINE_RIGHTS = ['function', 'passing-function', 'procedure'] as const;

export type RoutineRight = (typeof ROUTINE_RIGHTS)[number];

/** The rights that a grant of a privilege gives, and those that a deny of the privilege takes away. */
interface RuleRights {
  gives: readonly (DataRight | RoutineRight)[];
  takes: readonly (DataRight | RoutineRight)[];
}

export const RIGHTS_OF_PRIVILEGES: Readonly<Record<Privilege, RuleRights>> = {
  // A deny of SELECT also takes away GRANT_SELECT, because GRANT_SELECT includes SELECT.
  SELECT: { gives: ['SELECT'], takes: ['SELECT', 'GRANT_SELECT'] },
  INSERT: { gives: ['INSERT'], takes: ['INSERT'] },
  DELETE: { gives: ['DELETE'], takes: ['DELETE'] },
  UPDATE: { gives: ['UPDATE'], takes: ['UPDATE'] },
  SCHEMA_OWNERSHIP: { gives: ['owner'], takes: ['owner'] },
  TABLE_OWNERSHIP: { gives: ['OWNERSHIP'], takes: ['OWNERSHIP'] },
  OWNERSHIP: { gives: ['OWNERSHIP', 'owner'], takes: ['OWNERSHIP', 'owner'] },
  GRANT_SELECT: { gives: ['SELECT', 'GRANT_SELECT'], takes: ['GRANT_SELECT'] },
  EXECUTE_FUNCTION: { gives: ['function'], takes: ['function', 'passing-function'] },
  GRANT_EXECUTE_FUNCTION: { gives: ['function', 'passing-function'], takes: ['passing-function'] },
  CALL_PROCEDURE: { gives: ['procedure'], takes: ['procedure'] },
  // Rights over the engine itself: see `engine-rights.ts`.
  EXECUTE_QUERIES: { gives: [], takes: [] },
  VIEW_QUERIES: { gives: [], takes: [] },
  KILL_QUERIES: { gives: [], takes: [] },
  READ_SYSTEM_INFORMATION: { gives: [], takes: [] },
  WRITE_SYSTEM_INFORMATION: { gives: [], takes: [] },
  // Rights to impersonate: see `engine-rights.ts`.
  IMPERSONATE: { gives: [], takes: [] },
};

/** Privileges over routines. A filter, mask, hidden column or deny in a catalog takes them away in the whole catalog. */
export const ROUTINE_PRIVILEGES = (Object.keys(RIGHTS_OF_PRIVILEGES) as Privilege[]).filter((name) =>
  ROUTINE_RIGHTS.some((right) => RIGHTS_OF_PRIVILEGES[name].gives.includes(right)),
);

/** Schemas of the catalog `system` that the engine filters per user. */
export const FILTERED_SYSTEM_SCHEMAS = ['jdbc', 'metadata'];

/** The engine's own catalog. Grants and policies on everything do not apply there. */
export const SYSTEM = 'system';

export function isKillQuery({ catalog, schema, routine }: Node): boolean {
  return catalog === SYSTEM && schema === 'runtime' && routine === 'kill_query';
}

/** Whether a node is in the metadata catalog, where grants and policies have no effect. */
export function isInMetadataCatalog({ catalog }: Node, { metadataCatalog }: SnapshotSettings): boolean {
  return catalog === metadataCatalog;
}

/** Whether `new_user` of a rule can contain a name. The engine reads `new_user` as a replacement text first (seen on 483). */
export function isReplacementSafe(name: string): boolean {
  return !['$', '\\', '^', '[', ']'].some((character) => name.includes(character));
}

export function hasEffect({ revokedAt, expiresAt }: SnapshotGrant, now: Date): boolean {
  return revokedAt === null && (expiresAt === null || expiresAt > now);
}
