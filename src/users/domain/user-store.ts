import type { Account, AccountWithHash, Role } from './account.js';

export interface NewAccount {
  username: string;
  email: string;
  passwordHash: string;
  role: Role;
  createdAt: Date;
}

/** A password's new hash. `oneTimeUntil` as in Account. */
export interface NewHash {
  hash: string;
  oneTimeUntil: Date | null;
}

/** The unique field that another account has already; of both, the username. */
export type Taken = 'username-taken' | 'email-taken';
export type Registration = { kind: 'registered'; account: Account } | { kind: Taken };

/** `outdated`: the hash was changed meanwhile, or the account deactivated. */
export type EmailChange = 'changed' | 'email-taken' | 'outdated';

export interface UserFilter {
  /** Part of the username or the e-mail address, in any case. */
  text: string | null;
  role: Role | null;
  isActive: boolean | null;
}

export type AccountChange =
  { kind: 'changed'; before: Account; account: Account } | { kind: 'unknown' | 'last-administrator' };

/** Where accounts are kept. Usernames and e-mails are looked up in any case. */
export abstract class UserStore {
  /** Claims the name and makes the account, or neither; of many at once exactly one succeeds. */
  abstract register(newAccount: NewAccount): Promise<Registration>;
  /** What would make a registration fail now; null: nothing. */
  abstract taken(username: string, email: string): Promise<Taken | null>;
  abstract findByUsername(username: string): Promise<AccountWithHash | null>;
  abstract findById(id: number): Promise<AccountWithHash | null>;
  /** Puts a new hash in the place of the one that was checked; false: it was changed meanwhile, or the account deactivated. */
  abstract replaceHash(id: number, checkedHash: string, next: NewHash): Promise<boolean>;
  /** Sets a password whatever the present one is. False: there is no such account. */
  abstract setHash(id: number, next: NewHash): Promise<boolean>;
  /** Where the hash that was checked is still there, and the account active. */
  abstract changeEmail(id: number, email: string, checkedHash: string): Promise<EmailChange>;
  /** By rising id, beginning above `after` (null: at the first), at most `limit`. */
  abstract page(filter: UserFilter, after: number | null, limit: number): Promise<Account[]>;
  /** The last active administrator cannot be taken away, by any number of changes at once. */
  abstract change(id: number, change: { isActive?: boolean; role?: Role }): Promise<AccountChange>;
}
