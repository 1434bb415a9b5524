/** The uses to which an API token can be limited. Each route that accepts API tokens names the scopes that give access to it. */
export const TOKEN_SCOPES = ['queries', 'access.read', 'admin.read', 'admin.write'] as const;
export type TokenScope = (typeof TOKEN_SCOPES)[number];

/** Whether only administrators can use a scope. */
export function isForAdministrators(scope: TokenScope): boolean {
  return scope.startsWith('admin.');
}
