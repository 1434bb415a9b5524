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

/** Source document 2.1: 3 to 64 of letters, digits and underscore, ASCII only. @returns what is wrong, or null. */
export function usernameProblem(text: string): string | null {
  if (text.length < 3 || text.length > 64) return 'must be 3 to 64 characters long';
  // `$` would let a final newline pass in some languages; in JavaScript it does not (no flag m).
  if (!/^[a-zA-Z0-9_]+$/.test(text)) return 'must consist of letters, digits and underscores';
  return null;
}

const ATOM = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/i;
const LABEL = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/i;

/**
 * An e-mail address as people have them: RFC 5322's addr-spec with a dot-atom before the @ and a host name of two labels
 * or more after it, ASCII, within the lengths of RFC 5321 section 4.5.3.1 (64 before the @, 255 after it, 254 in all) and of
 * RFC 1035 (63 a label). No display names, comments, quoted strings, address literals, white space or look-alikes.
 * @returns what is wrong, or null.
 */
export function emailProblem(text: string): string | null {
  const at = text.lastIndexOf('@');
  const local = text.slice(0, at);
  const labels = text.slice(at + 1).split('.');
  if (text.length > 254 || local.length > 64) return 'is too long for an e-mail address';
  const isAddress =
    at > 0 &&
    ATOM.test(local) &&
    labels.length >= 2 &&
    labels.every((label) => label.length <= 63 && LABEL.test(label)) &&
    // A host name does not end in a number: that would be an IPv4 address (RFC 1123 section 2.1).
    !/^[0-9]+$/.test(labels.at(-1) ?? '');
  return isAddress ? null : 'must be an e-mail address such as name@example.org';
}

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
  /** Why a registration would fail now; null: it would not. */
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

/** The holder of a name, and its spelling. */
export interface HeldName {
  name: string;
  holder: 'account' | 'engine';
}

/**
 * The one table of names: the first holder of a name has it for good, in any case of its letters.
 * Accounts claim theirs when they register (UserStore.register).
 */
export abstract class PrincipalNames {
  /**
   * Claims names for engine principals, all that are free or held by engine principals in the same spelling already.
   * @returns those that are not: held by an account, or spelled otherwise. Empty: all are claimed.
   */
  abstract claimForEngine(names: readonly string[], at: Date): Promise<HeldName[]>;
  /** The names among these that no engine principal can have: held by an account, or spelled otherwise. */
  abstract closedToEngine(names: readonly string[]): Promise<HeldName[]>;
}
