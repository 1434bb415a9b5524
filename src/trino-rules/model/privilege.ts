/** The engine's table privileges, in its own order (Trino, file-based access control). */
export const PRIVILEGES = ['SELECT', 'INSERT', 'DELETE', 'UPDATE', 'OWNERSHIP', 'GRANT_SELECT'] as const;

export type Privilege = (typeof PRIVILEGES)[number];

/** In the engine's order, each once. */
export function orderedPrivileges(privileges: readonly Privilege[]): Privilege[] {
  return PRIVILEGES.filter((privilege) => privileges.includes(privilege));
}
