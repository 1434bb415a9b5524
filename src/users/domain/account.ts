export const ROLES = ['user', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** A person's account. Username and e-mail as they were typed; both are unique without regard to case. */
export interface Account {
  id: number;
  username: string;
  email: string;
  role: Role;
  isActive: boolean;
  createdAt: Date;
  /**
   * The password is a one-time password that an administrator set, good for signing in until then; it must be changed
   * before anything else. Null: the person's own password.
   */
  oneTimeUntil: Date | null;
}

/** What signing in needs beside the account. The hash stays between the store and the hasher. */
export interface AccountWithHash {
  account: Account;
  passwordHash: string;
}
