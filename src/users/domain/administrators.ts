import { type Account, removesLastAdministrator } from './account.js';

/** The identity provider's group whose members are administrators. Local groups of the same name give no role. */
export interface AdministratorsGroup {
  name: string;
  source: 'oidc' | 'scim';
}

/** The message for a local group that would have the name of the administrators' group. */
export const GROUP_NAME_TAKEN = "is the name of the identity provider's group of administrators";

/** An account whose role contradicts its membership in the administrators' group. */
export interface RoleMismatch extends Pick<Account, 'id' | 'username' | 'isActive'> {
  isMember: boolean;
}

export interface RoleChanges {
  promotions: RoleMismatch[];
  demotions: RoleMismatch[];
}

/** Plans role changes, so that exactly the members of the provider's group for administrators are administrators. @param administratorIds active administrators with a password; one of them must remain */
export function planRoles(mismatches: readonly RoleMismatch[], administratorIds: readonly number[]): RoleChanges {
  const promotions = mismatches.filter(({ isMember }) => isMember);
  const demotions: RoleMismatch[] = [];
  let remainingIds = administratorIds;
  for (const account of mismatches) {
    if (account.isMember || removesLastAdministrator(remainingIds, { ...account, role: 'user' })) continue;
    demotions.push(account);
    remainingIds = remainingIds.filter((id) => id !== account.id);
  }
  return { promotions, demotions };
}
