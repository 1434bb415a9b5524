export const ROLES = ['user', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** How an account came to be: registered or made by an administrator, read from a list, by a sign-in at a provider, by SCIM. */
export const SOURCES = ['local', 'import', 'oidc', 'scim'] as const;
export type Source = (typeof SOURCES)[number];

/** A user's account. Username and e-mail as they were given; both are unique without regard to case. */
export interface Account {
  id: number;
  username: string;
  /** Null: none is known, or another account has it. */
  email: string | null;
  role: Role;
  source: Source;
  hasPassword: boolean;
  isActive: boolean;
  createdAt: Date;
  /**
   * The password is a one-time password that an administrator set, good for signing in until then; it must be changed
   * before anything else. Null: the user's own password.
   */
  oneTimeUntil: Date | null;
}

/** What the list of accounts says besides of each. */
export interface AccountUse {
  /** The first of the groups that it is in, by name. */
  groups: readonly string[];
  /** Of all of them. */
  groupCount: number;
  /** As the audit trail has it; null: never, or longer ago than the trail is kept. */
  lastSignInAt: Date | null;
  /** Names that it was renamed away from and that were not freed, in their order. */
  formerNames: readonly string[];
}

/** An account that has proved its password. The hash stays between the store and the hasher. */
export interface AccountWithHash {
  account: Account;
  passwordHash: string;
}

/** An account for signing in. `passwordHash` null: it has no password that could be used. */
export interface AccountToProve {
  account: Account;
  passwordHash: string | null;
}

/**
 * Whether a change would leave no active administrator who has a password: the account is the last one, and would not be one
 * any more. Without a password an administrator signs in by the provider alone, which may be down.
 */
export function takesLastAdministrator(
  activeAdministrators: readonly number[],
  next: Pick<Account, 'id' | 'role' | 'isActive'>,
): boolean {
  const staysOne = next.role === 'admin' && next.isActive;
  return !staysOne && activeAdministrators.length === 1 && activeAdministrators[0] === next.id;
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

/** An account that registers: with an e-mail address and a password. */
export interface NewRegistration {
  username: string;
  email: string;
  passwordHash: string;
  role: Role;
  createdAt: Date;
}

/** An account that somebody else makes. `password` null: it has none. */
export interface NewAccount {
  username: string;
  email: string | null;
  role: Role;
  source: Source;
  password: NewHash | null;
}

/** `isEmailTaken`: another account has the address, which is not stored. `exists`: an account has that very name. */
export type Creation =
  | { kind: 'created'; account: Account; isEmailTaken: boolean }
  | { kind: 'exists'; account: Account }
  | { kind: 'name-taken'; holder: NameHolder };

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
  source: Source | null;
}

/** What an administrator may change. A name only of an account without a password, and nothing of another one by SCIM. */
export interface AccountEdit {
  isActive?: boolean;
  role?: Role;
  username?: string;
  /** Null: none. Of another account's address the account gets none. */
  email?: string | null;
  /** Who changes it; absent: an administrator. */
  by?: Deactivator;
}

/** Who can deactivate an account. What one of them did, SCIM alone does not undo. */
export type Deactivator = 'administrator' | 'scim';

/** Whether an account is active, and if not, by whom; null: by somebody of the time before that was recorded, an administrator. */
export interface Activation {
  isActive: boolean;
  deactivatedBy: Deactivator | null;
}

/** Deactivation wins: SCIM activates only what it deactivated itself; an administrator activates any account. */
export function activationAfter(
  before: Activation,
  { isActive = before.isActive, by = 'administrator' }: Pick<AccountEdit, 'isActive' | 'by'>,
): Activation {
  if (isActive) {
    const mayActivate = by === 'administrator' || before.deactivatedBy === 'scim';
    return before.isActive || mayActivate ? { isActive: true, deactivatedBy: null } : before;
  }
  const isStronger = before.isActive || (by === 'administrator' && before.deactivatedBy === 'scim');
  return isStronger ? { isActive: false, deactivatedBy: by } : before;
}

export type AccountChange =
  /** `takenFrom`: who had deactivated the account that now stays inactive by another one's word; null: nothing of that. */
  | { kind: 'changed'; before: Account; account: Account; takenFrom: Deactivator | null }
  | { kind: 'unknown' | 'last-administrator' | 'has-password' }
  | { kind: 'name-taken'; holder: NameHolder };

/** Where accounts are kept. Usernames and e-mails are looked up in any case. */
export abstract class UserStore {
  /** Claims the name and makes the account, or neither; of many at once exactly one succeeds. */
  abstract register(registration: NewRegistration): Promise<Registration>;
  /** Why a registration would fail now; null: it would not. */
  abstract taken(username: string, email: string): Promise<Taken | null>;
  /** Accounts whose names are claimed. In their order; where another account has the e-mail address, without it. */
  abstract add(accounts: readonly NewAccount[], at: Date): Promise<Account[]>;
  abstract findByUsername(username: string): Promise<AccountToProve | null>;
  abstract findById(id: number): Promise<AccountToProve | null>;
  /** By their very names. */
  abstract named(usernames: readonly string[]): Promise<Account[]>;
  /** Puts a new hash in the place of the one that was checked; false: it was changed meanwhile, or the account deactivated. */
  abstract replaceHash(id: number, checkedHash: string, next: NewHash): Promise<boolean>;
  /** Sets a password whatever the present one is. False: there is no such account. */
  abstract setHash(id: number, next: NewHash): Promise<boolean>;
  /** Where the hash that was checked is still there, and the account active. */
  abstract changeEmail(id: number, email: string, checkedHash: string): Promise<EmailChange>;
  /** By rising id, beginning above `after` (null: at the first), at most `limit`. */
  abstract page(filter: UserFilter, after: number | null, limit: number): Promise<Account[]>;
  /** How accounts are used, by their ids. */
  abstract useOf(ids: readonly number[]): Promise<Map<number, AccountUse>>;
  abstract count(filter: UserFilter): Promise<number>;
  /**
   * The account of a name, in any case of ASCII, becomes one of the source `to`.
   * @returns null: it is of another source than `from`, has a password, or is an administrator's
   */
  abstract takeOver(username: string, from: readonly Source[], to: Source): Promise<Account | null>;
  /** The last active administrator cannot be taken away, by any number of changes at once. */
  abstract change(id: number, change: AccountEdit, at: Date): Promise<AccountChange>;
}

/** The holder of a name, and its spelling. */
export interface HeldName {
  name: string;
  holder: 'account' | 'engine';
}

/** Why an account cannot have a name. `former`: an account was renamed away from it. */
export interface NameHolder {
  name: string;
  holder: HeldName['holder'] | 'service-account' | 'former';
  /** The account that was renamed away from it. */
  formerOf?: number | null;
}

/** The end of a sentence that begins with the name that was asked for. */
export function holderText({ name, holder, formerOf }: NameHolder, asked: string): string {
  const spelling = name === asked ? '' : `, which is spelled ${name}`;
  switch (holder) {
    case 'account':
      return `is the name of an account${spelling}`;
    case 'engine':
      return `is the name of an engine principal${spelling}`;
    case 'service-account':
      return `is the name of a service account${spelling}`;
    case 'former':
      return `was the name of account ${formerOf ?? ''}${spelling}: an administrator can free it there`;
  }
}

/** The one table of names: a name has one holder, in any case of its letters. */
export abstract class PrincipalNames {
  /** Claims names for accounts. @returns those that it could not, with their holders; none: all are claimed. */
  abstract claimForAccounts(names: readonly string[], at: Date): Promise<Map<string, NameHolder>>;
  /**
   * Claims an account's next name in the place of its present one, which nobody else can have then; or one that it had before, or
   * respells its name. @returns the holder of the name; null: it is the account's.
   */
  abstract rename(account: Pick<Account, 'id' | 'username'>, next: string, at: Date): Promise<NameHolder | null>;
  /** Gives an account that is gone for good another name; its own and its former ones are free then. False: the next one is held. */
  abstract release(account: Pick<Account, 'id' | 'username'>, next: string): Promise<boolean>;
  /** Frees a former name of an account. False: it is none of that account's. */
  abstract free(id: number, name: string): Promise<boolean>;
  /**
   * Claims names for engine principals, all that are free or held by engine principals in the same spelling already.
   * @returns those that are not: held by an account, or spelled otherwise. Empty: all are claimed.
   */
  abstract claimForEngine(names: readonly string[], at: Date): Promise<HeldName[]>;
  /** The names among these that no engine principal can have: held by an account, or spelled otherwise. */
  abstract closedToEngine(names: readonly string[]): Promise<HeldName[]>;
}
