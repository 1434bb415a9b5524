import { foldedName, nameProblem } from '../../kernel/name.js';

export const ROLES = ['user', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** Origins of accounts: registration or an administrator (`local`), an imported list, a sign-in at the identity provider, SCIM. */
export const SOURCES = ['local', 'import', 'oidc', 'scim'] as const;
export type Source = (typeof SOURCES)[number];

/** A user's account. Username and e-mail address keep their case, and are unique without regard to it. */
export interface Account {
  id: number;
  username: string;
  /** Null: no address is known, or another account has it. */
  email: string | null;
  role: Role;
  source: Source;
  hasPassword: boolean;
  isActive: boolean;
  createdAt: Date;
  /**
   * Until this time the user can sign in with the one-time password that an administrator set, and must change it before anything else.
   * Null: the password is the user's own.
   */
  oneTimeUntil: Date | null;
}

/** An account with its groups, last sign-in and former names, for the list of accounts. */
export interface UsedAccount extends Account {
  /** The first three of its groups, by name. */
  groups: readonly string[];
  /** The number of all its groups. */
  groupCount: number;
  /** The last sign-in in the audit trail; null: never, or longer ago than the trail is kept. */
  lastSignInAt: Date | null;
  /** Former names that were not freed, sorted. */
  formerNames: readonly string[];
}

/** An account whose password is to be checked. `passwordHash` null: it has no usable password. */
export interface AccountToProve {
  account: Account;
  passwordHash: string | null;
}

/** An account whose password was checked. Only the store and the hasher use the hash. */
export type AccountWithHash = AccountToProve & { passwordHash: string };

/**
 * Whether a change would leave no active administrator with a password. Administrators without one sign in only at the identity
 * provider, which may be down.
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
 * Accepts common e-mail addresses: RFC 5322's addr-spec with a dot-atom before the @ and a host name of at least two labels
 * after it, ASCII, within the lengths of RFC 5321 section 4.5.3.1 (64 before the @, 255 after it, 254 in all) and of
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

/** An account to be created; without a password if `password` is null. */
export interface NewAccount {
  username: string;
  email: string | null;
  role: Role;
  source: Source;
  password: NewHash | null;
}

/** `isEmailTaken`: another account has the address, which is not stored. `exists`: an account has exactly that name. */
export type Creation =
  | { kind: 'created'; account: Account; isEmailTaken: boolean }
  | { kind: 'exists'; account: Account }
  | { kind: 'name-taken'; holder: NameHolder };

/** A password's new hash. `oneTimeUntil` as in Account. */
export interface NewHash {
  hash: string;
  oneTimeUntil: Date | null;
}

/** The unique field that another account has already: the username, if both are taken. */
export type FieldTaken = 'username_taken' | 'email_taken';

/** `outdated`: meanwhile the hash was changed or the account deactivated. */
export type EmailChange = 'changed' | 'email_taken' | 'outdated';

/** A filter of accounts. Absent fields match any. */
export interface UserFilter {
  /** Part of the username or the e-mail address, compared without case. */
  text?: string | undefined;
  role?: Role | undefined;
  isActive?: boolean | undefined;
  source?: Source | undefined;
}

/** A change of an account. An account with a password cannot be renamed, and SCIM cannot change it at all. */
export interface AccountEdit {
  isActive?: boolean;
  role?: Role;
  username?: string;
  /** Null removes the address. An address that another account has is not stored. */
  email?: string | null;
  /** Absent: an administrator. */
  by?: Deactivator;
}

/** The side that deactivated an account. SCIM never undoes an administrator's deactivation. */
export type Deactivator = 'administrator' | 'scim';

/** `deactivatedBy` null on an inactive account: an administrator deactivated it before this was recorded. */
export interface Activation {
  isActive: boolean;
  deactivatedBy: Deactivator | null;
}

/** SCIM activates only accounts that it deactivated itself; an administrator activates any account. */
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
  /** `takenFrom`: the former deactivator of an account that stays inactive but has another deactivator now; null otherwise. */
  | { kind: 'changed'; before: Account; account: Account; takenFrom: Deactivator | null }
  | { kind: 'unknown' | 'last-administrator' | 'has-password' }
  | { kind: 'name-taken'; holder: NameHolder };

/** A name in its recorded spelling, with the kind of its holder. */
export interface HeldName {
  name: string;
  holder: 'account' | 'engine';
}

/** Why an account cannot have a name. `former`: an account was renamed away from it. */
export interface NameHolder {
  name: string;
  holder: HeldName['holder'] | 'service-account' | 'former';
  /** Id of the account that had the name. */
  formerOf?: number | null;
}

/** Why a name is not available: the rest of a sentence that begins with the name. */
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

/** The problem of a username in a registration: it must be 3 to 64 ASCII letters, digits and underscores. */
export function usernameProblem(text: string): string | null {
  if (text.length < 3 || text.length > 64) return 'must be 3 to 64 characters long';
  // `$` would let a final newline pass in some languages; in JavaScript it does not (no flag m).
  if (!/^[a-zA-Z0-9_]+$/.test(text)) return 'must consist of letters, digits and underscores';
  return null;
}

/**
 * Passwords have 8 to 128 code points as received (NIST SP 800-63B 3.1.1.2); hashing normalises them to NFC (RFC 8265, OpaqueString).
 * NUL is refused because bcrypt repeats its key: P and P NUL P have one hash. Lone surrogates are refused because they have no UTF-8.
 * @returns what is wrong, or null.
 */
export function passwordProblem(text: string): string | null {
  const characterProblem = passwordCharacterProblem(text);
  if (characterProblem !== null) return characterProblem;
  // Code points, not UTF-16 units: an emoji counts as one.
  const { length } = Array.from(text);
  return length < 8 || length > 128 ? 'must be 8 to 128 characters long' : null;
}

/** The problem of characters that no stored password can have. Also used for presented passwords. */
export function passwordCharacterProblem(text: string): string | null {
  if (text.includes('\0')) return 'must not hold the character NUL';
  if (/\p{Surrogate}/u.test(text)) return 'must be valid Unicode, without lone surrogates';
  return null;
}

/** The prefix of the names that identity providers give the accounts of clients. */
const OF_SERVICE_ACCOUNTS = 'service-account-';

/**
 * The problem of the name of an unregistered account: a user name as the engine sees it, such as an e-mail address. One normalization
 * form and no invisible characters prevent names that look alike.
 */
export function accountNameProblem(text: string): string | null {
  const problem = nameProblem(text);
  if (problem !== null) return problem;
  if (text !== text.trim()) return 'must not begin or end with a blank';
  if (text !== text.normalize('NFC')) return 'must be in Unicode normalization form NFC';
  const isOfService = foldedName(text).startsWith(OF_SERVICE_ACCOUNTS);
  return isOfService ? `must not begin with ${OF_SERVICE_ACCOUNTS}, as service accounts do` : null;
}

/**
 * A key that is equal for names that differ only in case, also beyond ASCII. Converts to upper case first, so that `ß` equals `SS`.
 * Stored with the name, because the database folds only ASCII (docs/decisions/0007).
 */
export function accountKey(name: string): string {
  return name.toUpperCase().toLowerCase().normalize('NFC');
}
