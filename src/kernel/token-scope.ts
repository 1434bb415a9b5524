/** What an API token can be for. Each route that takes API tokens is marked with the scopes that open it. */
export const TOKEN_SCOPES = ['queries', 'access.read', 'admin.read', 'admin.write'] as const;
export type TokenScope = (typeof TOKEN_SCOPES)[number];

/** Whether a scope is of no use to accounts that are not administrators. */
export function isForAdministrators(scope: TokenScope): boolean {
  return scope.startsWith('admin.');
}
