export const ROLES = ['user', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** A user's account. Username and e-mail as they were typed; both are unique without regard to case. */
export interface Account {
  id: number;
  username: string;
  email: string;
  role: Role;
  isActive: boolean;
  createdAt: Date;
  /**
   * The password is a one-time password that an administrator set, good for signing in until then; it must be changed
   * before anything else. Null: the user's own password.
   */
  oneTimeUntil: Date | null;
}

/** An account for signing in. The hash stays between the store and the hasher. */
export interface AccountWithHash {
  account: Account;
  passwordHash: string;
}

/** Whether a change would leave no active administrator: the account is the last one, and would not be one any more. */
export function takesLastAdministrator(
  activeAdministrators: readonly number[],
  next: Pick<Account, 'id' | 'role' | 'isActive'>,
): boolean {
  const staysOne = next.role === 'admin' && next.isActive;
  return !staysOne && activeAdministrators.length === 1 && activeAdministrators[0] === next.id;
}
