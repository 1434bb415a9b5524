import { type Account, takesLastAdministrator } from './account.js';

/** The identity provider's group whose members are administrators. A local group of that name does not count. */
export interface AdministratorsGroup {
  name: string;
  source: 'oidc' | 'scim';
}

/** The problem of any other group with that name. */
export const GROUP_NAME_TAKEN = "is the name of the identity provider's group of administrators";

/** An account whose role contradicts the group: a member without the role, or a non-member who has the role by the group. */
export interface OutdatedRole extends Pick<Account, 'id' | 'username' | 'isActive'> {
  isMember: boolean;
}

export interface RoleChanges {
  promoted: OutdatedRole[];
  demoted: OutdatedRole[];
}

/** @param administrators ids of active administrators with a password, the last of whom keeps the role */
export function planRoles(outdated: readonly OutdatedRole[], administrators: readonly number[]): RoleChanges {
  const promoted = outdated.filter(({ isMember }) => isMember);
  const demoted: OutdatedRole[] = [];
  let left = administrators;
  for (const account of outdated) {
    if (account.isMember || takesLastAdministrator(left, { ...account, role: 'user' })) continue;
    demoted.push(account);
    left = left.filter((id) => id !== account.id);
  }
  return { promoted, demoted };
}
