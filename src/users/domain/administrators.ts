import { type Account, takesLastAdministrator } from './account.js';

/** The identity provider's group whose members are administrators while they are in it. A local one of that name is another group. */
export interface AdministratorsGroup {
  name: string;
  source: 'oidc' | 'scim';
}

/** Why nobody else names a group so. */
export const GROUP_NAME_TAKEN = "is the name of the identity provider's group of administrators";

/** An account whose role is not what the group says: a member who is no administrator, or an administrator by it who is no member. */
export interface OutdatedRole extends Pick<Account, 'id' | 'username' | 'isActive'> {
  isMember: boolean;
}

export interface RoleChanges {
  promoted: OutdatedRole[];
  demoted: OutdatedRole[];
}

/** @param administrators those who are active and have a password: the last of them stays one, until there is another */
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

/** Where roles by the group are kept, apart from those that people gave; and whether anybody has the role, by whatever. */
export abstract class AdministratorStore {
  /** Gives and takes roles, so that members alone are administrators by the group. @param group null: there is none */
  abstract follow(group: AdministratorsGroup | null): Promise<RoleChanges>;
  abstract isMember(userId: number, group: AdministratorsGroup): Promise<boolean>;
  /** Whether any active account is an administrator. */
  abstract exist(): Promise<boolean>;
}
