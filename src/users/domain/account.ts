import { foldedName, nameProblem } from '../../kernel/name.js';

export const ROLES = ['user', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** Origins of accounts. `local`: registration or administrator. `import`: a list. `oidc`: sign-in at the provider. `scim`: push by the provider. */
export const ACCOUNT_SOURCES = ['local', 'import', 'oidc', 'scim'] as const;
export type Source = (typeof ACCOUNT_SOURCES)[number];

/** A user's account. Username and e-mail address keep their case, and are unique without regard to it. */
export interface Account {
  id: number;
  username: string;
  /** The e-mail address; null: none is known, or another account has it. */
  email: string | null;
  role: Role;
  source: Source;
  hasPassword: boolean;
  isActive: boolean;
  createdAt: Date;
  /**
   * The end of the one-time password that an administrator set. Until this time the user can sign in with it, but only to change it.
   * Null: the password is the user's own.
   */
  passwordExpiresAt: Date | null;
}

/** An account with its groups, last sign-in and former names, for the list of accounts. */
export interface AccountDetails extends Account {
  /** The first three groups of the account, by name. */
  groups: readonly string[];
  /** The number of all groups of the account. */
  groupCount: number;
  /** The last sign-in in the audit trail; null: never, or longer ago than the trail is kept. */
  lastSignInAt: Date | null;
  /** Former names that are still reserved for the account, sorted. */
  formerNames: readonly string[];
}

/** An account whose password is to be checked. `passwordHash` is null if it has no usable password. */
export interface AccountToAuthenticate {
  account: Account;
  passwordHash: string | null;
}

/** An account whose password was checked. Only the store and the hasher use the hash. */
export type AuthenticatedAccount = AccountToAuthenticate & { passwordHash: string };

/**
 * Whether a change would leave no active administrator with a password that can be used. Administrators without one can sign in only at
 * the identity provider, which may be down.
 */
export function removesLastAdministrator(
  activeAdministratorIds: readonly number[],
  changedAccount: Pick<Account, 'id' | 'role' | 'isActive'>,
): boolean {
  const staysAdministrator = changedAccount.role === 'admin' && changedAccount.isActive;
  return !staysAdministrator && activeAdministratorIds.length === 1 && activeAdministratorIds[0] === changedAccount.id;
}

const EMAIL_ATOM_PATTERN = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/i;
const HOST_LABEL_PATTERN = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/i;

/**
 * Accepts common e-mail addresses: RFC 5322's addr-spec with a dot-atom before the @ and a host name of at least two labels
 * after it, ASCII, within the lengths of RFC 5321 section 4.5.3.1 (64 before the @, 255 after it, 254 in all) and of
 * RFC 1035 (63 a label). No display names, comments, quoted strings, address literals, white space or look-alikes.
 * @returns the problem; null: none
 */
export function emailProblem(text: string): string | null {
  const atIndex = text.lastIndexOf('@');
  const localPart = text.slice(0, atIndex);
  const labels = text.slice(atIndex + 1).split('.');
  if (text.length > 254 || localPart.length > 64) return 'is too long for an e-mail address';
  const isAddress =
    atIndex > 0 &&
    EMAIL_ATOM_PATTERN.test(localPart) &&
    labels.length >= 2 &&
    labels.every((label) => label.length <= 63 && HOST_LABEL_PATTERN.test(label)) &&
    // A host name does not end in a number: that would be an IPv4 address (RFC 1123 section 2.1).
    !/^[0-9]+$/.test(labels.at(-1) ?? '');
  return isAddress ? null : 'must be an e-mail address such as name@example.org';
}

/** An account to be created; without a password if `storedPassword` is null. */
export interface NewAccount {
  username: string;
  email: string | null;
  role: Role;
  source: Source;
  storedPassword: NewHash | null;
}

/** `isEmailTaken`: another account has the address, so it is not stored. `exists`: an account has the name in the same spelling. */
export type CreateOutcome =
  | { kind: 'created'; account: Account; isEmailTaken: boolean }
  | { kind: 'exists'; account: Account }
  | { kind: 'name-taken'; holder: NameHolder };

/** A password's new hash. `passwordExpiresAt` as in Account. */
export interface NewHash {
  hash: string;
  passwordExpiresAt: Date | null;
}

/** A filter of accounts. Absent fields match any. */
export interface UserFilter {
  /** Part of the username or the e-mail address, compared without case. */
  text?: string | undefined;
  role?: Role | undefined;
  isActive?: boolean | undefined;
  source?: Source | undefined;
}

/** A change of an account. Only SCIM renames an account with a password, if it is one of its own. */
export interface AccountEdit {
  isActive?: boolean | undefined;
  role?: Role | undefined;
  username?: string | undefined;
  /** The new e-mail address; null removes the present one. An address that another account has is not stored. */
  email?: string | null;
  /** The side that makes the change; absent: an administrator. */
  changedBy?: Deactivator;
}

/** The side that deactivated an account. SCIM never undoes an administrator's deactivation. */
export type Deactivator = 'administrator' | 'scim';

/** Whether an account is active, and who deactivated it. Old records have null for an administrator. */
export interface Activation {
  isActive: boolean;
  deactivatedBy: Deactivator | null;
}

/** SCIM activates only accounts that it deactivated itself; an administrator activates any account. */
export function activationAfter(
  activation: Activation,
  { isActive, changedBy = 'administrator' }: Pick<AccountEdit, 'isActive' | 'changedBy'>,
): Activation {
  if (isActive === undefined) return activation;
  if (isActive) {
    const mayActivate = changedBy === 'administrator' || activation.deactivatedBy === 'scim';
    return activation.isActive || mayActivate ? { isActive: true, deactivatedBy: null } : activation;
  }
  const replacesDeactivator =
    activation.isActive || (changedBy === 'administrator' && activation.deactivatedBy === 'scim');
  return replacesDeactivator ? { isActive: false, deactivatedBy: changedBy } : activation;
}

export type AccountChangeOutcome =
  /** `formerDeactivator`: the deactivator before the change, if the account stays inactive but its deactivator changes; else null. */
  | { kind: 'changed'; oldAccount: Account; account: Account; formerDeactivator: Deactivator | null }
  | { kind: 'unknown' | 'last-administrator' | 'has-password' }
  | { kind: 'name-taken'; holder: NameHolder };

/** A name in its recorded spelling, with the kind of its holder. */
export interface HeldName {
  name: string;
  holder: 'account' | 'engine';
}

/** The holder of a name that an account cannot have. `former`: it is the former name of another account. */
export interface NameHolder {
  name: string;
  holder: HeldName['holder'] | 'service-account' | 'former';
  /** Id of the account that had the name. */
  formerOf?: number | null;
}

/** Why a name is not available, as the rest of a sentence that begins with the name. */
export function holderText({ name, holder, formerOf }: NameHolder, requestedName: string): string {
  const spelling = name === requestedName ? '' : `, which is spelled ${name}`;
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
  if (!/^[a-zA-Z0-9_]+$/.test(text)) return 'must consist of letters, digits and underscores';
  return null;
}

/**
 * Passwords have 8 to 128 code points as received (NIST SP 800-63B 3.1.1.2); hashing normalises them to NFC (RFC 8265, OpaqueString).
 * NUL is refused because bcrypt repeats its key: P and P NUL P have one hash. Lone surrogates are refused because they have no UTF-8.
 * @returns the problem; null: none
 */
export function passwordProblem(text: string): string | null {
  const characterProblem = passwordCharacterProblem(text);
  if (characterProblem !== null) return characterProblem;
  // Code points, not UTF-16 units: an emoji counts as one.
  const { length } = Array.from(text);
  return length < 8 || length > 128 ? 'must be 8 to 128 characters long' : null;
}

/** The problem if a stored or presented password has characters that no password can have; null: none. */
export function passwordCharacterProblem(text: string): string | null {
  if (text.includes('\0')) return 'must not hold the character NUL';
  if (/\p{Surrogate}/u.test(text)) return 'must be valid Unicode, without lone surrogates';
  return null;
}

/** Keycloak names the accounts of its clients with this prefix. */
const SERVICE_ACCOUNT_PREFIX = 'service-account-';

/**
 * Why an account cannot have this name; null: it can. The name may be any user name of the engine, such as an e-mail address. One
 * normalization form and no invisible characters prevent names that look alike.
 */
export function accountNameProblem(text: string): string | null {
  const problem = nameProblem(text);
  if (problem !== null) return problem;
  if (text !== text.trim()) return 'must not begin or end with a blank';
  if (text !== text.normalize('NFC')) return 'must be in Unicode normalization form NFC';
  const isServiceAccountName = foldedName(text).startsWith(SERVICE_ACCOUNT_PREFIX);
  return isServiceAccountName ? `must not begin with ${SERVICE_ACCOUNT_PREFIX}, as service accounts do` : null;
}

/**
 * A key that is equal for names that differ only in case, also beyond ASCII. Converts to upper case first, so that `ß` equals `SS`.
 * Stored with the name, because the database folds only ASCII (docs/decisions/0007).
 */
export function accountKey(name: string): string {
  return name.toUpperCase().toLowerCase().normalize('NFC');
}
