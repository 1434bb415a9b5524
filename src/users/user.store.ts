import { Injectable } from '@nestjs/common';
import { Clock } from '../kernel/clock.js';
import { IdSource } from '../kernel/ids.js';
import { foldedName } from '../kernel/name.js';
import { columnArrays, DatabaseSession } from '../platform/database/database-session.js';
import { Settings } from '../platform/settings/settings.js';
import {
  accountKey,
  type Account,
  type AccountChangeOutcome,
  type AccountEdit,
  type AccountToAuthenticate,
  type Activation,
  activationAfter,
  type CreateOutcome,
  type NameHolder,
  type NewAccount,
  type NewHash,
  type Source,
  removesLastAdministrator,
  type AccountDetails,
  type UserFilter,
} from './domain/account.js';
import { type AdministratorsGroup, type RoleMismatch, planRoles, type RoleChanges } from './domain/administrators.js';
import { PrincipalNames } from './principal-names.store.js';

/** The columns of an Account in statements on `users u`, here and in the store of credentials. */
export const ACCOUNT_COLUMNS = `u.id, u.username, u.email, u.role, u.source, u.password_hash IS NOT NULL AS "hasPassword",
  u.is_active AS "isActive", u.created_at AS "createdAt", u.one_time_until AS "passwordExpiresAt"`;

/** A name's holder by its `accountKey`. COLLATE "C" folds only ASCII letters, as the indexes of migration 0105 do. */
const OF_ACCOUNT_KEY =
  'lower(u.username COLLATE "C") = (SELECT lower(name COLLATE "C") FROM principal_names WHERE account_key = $1)';

const EMAIL_INDEX = 'users_email_in_any_case';

/** FROM and WHERE for a UserFilter. Uses strpos, because LIKE would read the underscores of usernames as wildcards. */
const FROM_FILTERED_USERS = `
  FROM users u
 WHERE ($1::text IS NULL OR strpos(caseless(u.username), caseless($1)) > 0 OR strpos(caseless(u.email), caseless($1)) > 0)
   AND ($2::text IS NULL OR u.role = $2) AND ($3::boolean IS NULL OR u.is_active = $3)
   AND ($4::text IS NULL OR u.source = $4)`;

/** Selects AccountDetails, with the first three groups of each account. */
const SELECT_DETAILS = `
  SELECT ${ACCOUNT_COLUMNS},
         ARRAY (SELECT name FROM groups JOIN group_members m ON m.group_id = groups.id WHERE m.user_id = u.id
                 ORDER BY lower(name), name LIMIT 3) AS groups,
         (SELECT count(*)::integer FROM group_members m WHERE m.user_id = u.id) AS "groupCount",
         (SELECT e.at FROM audit_events e WHERE e.actor_id = u.id AND e.event = 'login_succeeded'
           ORDER BY e.id DESC LIMIT 1) AS "lastSignInAt",
         ARRAY (SELECT name FROM principal_names WHERE former_of = u.id ORDER BY name) AS "formerNames"`;

/** Ids of the members of the group with name $1 and source $2. The index `groups_name_in_any_case` also has COLLATE "C". */
const SELECT_MEMBER_IDS = `
  SELECT m.user_id FROM groups g JOIN group_members m ON m.group_id = g.id
   WHERE lower(g.name COLLATE "C") = lower($1::text COLLATE "C") AND g.source = $2 AND g.deleted_at IS NULL
     AND m.user_id IS NOT NULL`;

/** Selects accounts whose role contradicts the provider's group of administrators. `role_by_group`: an administrator because of this group. */
const SELECT_MISMATCHES = `
  WITH members AS (${SELECT_MEMBER_IDS})
  SELECT u.id, u.username, u.is_active AS "isActive", u.role = 'user' AS "isMember" FROM users u
   WHERE (u.role = 'user' AND u.id IN (SELECT user_id FROM members))
      OR (u.role_by_group AND u.id NOT IN (SELECT user_id FROM members))
   ORDER BY u.id`;

/** The most rows that one statement writes, so that it ends long before the statement timeout. */
const ROWS_PER_STATEMENT = 1_000;

const MAX_NAME_LENGTH = 128;

export interface CreateOptions {
  report?: (createdCount: number) => void;
  /** Names that no account may get; by default the service accounts in the settings. */
  reservedNames?: readonly string[];
}

/** Accounts, with the names that they hold. Usernames and e-mail addresses are compared without case. */
@Injectable()
export class UserStore {
  constructor(
    private readonly session: DatabaseSession,
    private readonly names: PrincipalNames,
    private readonly settings: Settings,
    private readonly idSource: IdSource,
    private readonly clock: Clock,
  ) {}

  /**
   * Creates accounts in the running transaction; their names must differ in more than case. All names are claimed before the e-mail
   * addresses are written, as in a registration, so that concurrent calls do not deadlock.
   * @returns outcomes in the order of the accounts
   */
  async create(
    accounts: readonly NewAccount[],
    { report = () => undefined, reservedNames = this.settings.acl.serviceAccounts }: CreateOptions = {},
  ): Promise<CreateOutcome[]> {
    const takenNames = serviceAccountConflicts(accounts, reservedNames);
    const unreservedAccounts = accounts.filter(({ username }) => !takenNames.has(username));
    const nameHolders = await this.names.claimForAccounts(unreservedAccounts.map(({ username }) => username));
    for (const [name, holder] of nameHolders) takenNames.set(name, holder);
    const select = `SELECT ${ACCOUNT_COLUMNS} FROM users u WHERE u.username = ANY ($1)`;
    const existingAccounts = await this.session.query<Account>(select, [[...takenNames.keys()]]);
    const existingByName = new Map(existingAccounts.map((account) => [account.username, account]));
    const claimedAccounts = unreservedAccounts.filter(({ username }) => !takenNames.has(username));
    const createdByName = new Map<string, Account>();
    for (let chunkStart = 0; chunkStart < claimedAccounts.length; chunkStart += ROWS_PER_STATEMENT) {
      const chunk = await this.addAccounts(claimedAccounts.slice(chunkStart, chunkStart + ROWS_PER_STATEMENT));
      for (const account of chunk) createdByName.set(account.username, account);
      report(createdByName.size);
    }
    return accounts.map(({ username, email }): CreateOutcome => {
      const account = createdByName.get(username);
      if (account !== undefined) return { kind: 'created', account, isEmailTaken: account.email !== email };
      const existingAccount = existingByName.get(username);
      if (existingAccount !== undefined) return { kind: 'exists', account: existingAccount };
      return { kind: 'name-taken', holder: takenNames.get(username) ?? { name: username, holder: 'account' } };
    });
  }

  /** Frees the names of a deleted account, so that a new account can take them. @returns the account's new name */
  async releaseName({ id, username }: Pick<Account, 'id' | 'username'>): Promise<string> {
    // The first new name may already have a holder. The second has a random part, so it is free.
    for (const suffix of [` (deleted ${id})`, ` (deleted ${id}, ${this.idSource.secret()})`]) {
      const nextName =
        Array.from(username)
          .slice(0, MAX_NAME_LENGTH - suffix.length)
          .join('') + suffix;
      if (await this.names.releaseNames({ id, username }, nextName)) return nextName;
    }
    throw new Error(`the name of account ${id} cannot be released`);
  }

  /** The reason why a registration would fail now; `username_taken` if name and address are taken. Null: name and address are free. */
  async findConflict(username: string, email: string): Promise<'username_taken' | 'email_taken' | null> {
    const { name, address } = await this.session.oneRow<{ name: boolean; address: boolean }>(
      `SELECT EXISTS (SELECT FROM principal_names WHERE lower(name COLLATE "C") = lower($1 COLLATE "C")) AS name,
              EXISTS (SELECT FROM users WHERE lower(email COLLATE "C") = lower($2 COLLATE "C")) AS address`,
      [username, email],
    );
    return name ? 'username_taken' : address ? 'email_taken' : null;
  }

  /** Adds accounts whose names the caller has claimed. Stores no e-mail address that another account has. @returns them in the order of `accounts` */
  private async addAccounts(accounts: readonly NewAccount[]): Promise<Account[]> {
    const addedWithEmail = await this.insert(accounts);
    const accountsWithTakenEmail = accounts.filter(({ username }) => !addedWithEmail.has(username));
    const addedWithoutEmail = await this.insert(accountsWithTakenEmail.map((account) => ({ ...account, email: null })));
    return accounts.flatMap(({ username }) => addedWithEmail.get(username) ?? addedWithoutEmail.get(username) ?? []);
  }

  /** Inserts accounts whose e-mail addresses are free, and skips the others. @returns the inserted ones by name */
  private async insert(accounts: readonly NewAccount[]): Promise<Map<string, Account>> {
    if (accounts.length === 0) return new Map();
    const rows = accounts.map(({ username, email, role, source, storedPassword }) => [
      ...[username, email, role, source],
      ...[storedPassword?.hash ?? null, storedPassword?.passwordExpiresAt ?? null],
    ]);
    const insertedAccounts = await this.session.query<Account>(
      `INSERT INTO users AS u (username, email, role, source, password_hash, one_time_until, is_active, created_at)
       SELECT username, email, role, source, password_hash, one_time_until, true, $7
         FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[]) WITH ORDINALITY
              AS asked (username, email, role, source, password_hash, one_time_until, place)
        ORDER BY place
       ON CONFLICT (lower(email COLLATE "C")) DO NOTHING RETURNING ${ACCOUNT_COLUMNS}`,
      [...columnArrays(rows), this.clock.now()],
    );
    return new Map(insertedAccounts.map((account) => [account.username, account]));
  }

  /** Finds an account by its name in any case, letters beyond ASCII included. */
  findForLogin(username: string): Promise<AccountToAuthenticate | null> {
    return this.findOne(OF_ACCOUNT_KEY, accountKey(username));
  }

  findWithHash(id: number): Promise<AccountToAuthenticate | null> {
    return this.findOne('u.id = $1', id);
  }

  async find(id: number): Promise<Account | null> {
    return (await this.findWithHash(id))?.account ?? null;
  }

  private async findOne(condition: string, value: unknown): Promise<AccountToAuthenticate | null> {
    const select = `SELECT ${ACCOUNT_COLUMNS}, u.password_hash AS "passwordHash" FROM users u WHERE ${condition}`;
    const row = await this.session.firstRow<Account & { passwordHash: string | null }>(select, [value]);
    if (row === null) return null;
    const { passwordHash, ...account } = row;
    return { account, passwordHash };
  }

  /** Replaces the hash that was checked. @returns false: meanwhile the hash was changed or the account deactivated */
  async replaceHash(id: number, checkedHash: string, { hash, passwordExpiresAt }: NewHash): Promise<boolean> {
    const update = `UPDATE users SET password_hash = $2, one_time_until = $3 WHERE id = $1 AND password_hash = $4 AND is_active`;
    return (await this.session.execute(update, [id, hash, passwordExpiresAt, checkedHash])) === 1;
  }

  /** Sets a password without comparing the present hash. */
  async setHash(id: number, { hash, passwordExpiresAt }: NewHash): Promise<void> {
    const update = 'UPDATE users SET password_hash = $2, one_time_until = $3 WHERE id = $1';
    await this.session.execute(update, [id, hash, passwordExpiresAt]);
  }

  /** Changes the address after a check of the password. @returns `outdated`: meanwhile the hash was changed or the account deactivated */
  async changeEmail(id: number, email: string, checkedHash: string): Promise<'changed' | 'email_taken' | 'outdated'> {
    const update = 'UPDATE users SET email = $2 WHERE id = $1 AND password_hash = $3 AND is_active RETURNING id';
    const changedRows = await this.session.queryUnlessTaken(EMAIL_INDEX, update, [id, email, checkedHash]);
    return changedRows === null ? 'email_taken' : changedRows.length === 1 ? 'changed' : 'outdated';
  }

  /** At most `limit` accounts in the order of their ids, beginning after the id `after` (null: with the first account). */
  findPage(filter: UserFilter, after: number | null, limit: number): Promise<AccountDetails[]> {
    const selectPage = `${SELECT_DETAILS} ${FROM_FILTERED_USERS} AND u.id > $5 ORDER BY u.id LIMIT $6`;
    return this.session.query<AccountDetails>(selectPage, [...filterValues(filter), after ?? 0, limit]);
  }

  findDetails(id: number): Promise<AccountDetails | null> {
    return this.session.firstRow<AccountDetails>(`${SELECT_DETAILS} FROM users u WHERE u.id = $1`, [id]);
  }

  async count(filter: UserFilter): Promise<number> {
    const count = `SELECT count(*)::integer AS count ${FROM_FILTERED_USERS}`;
    return (await this.session.oneRow<{ count: number }>(count, filterValues(filter))).count;
  }

  /**
   * Sets the source of the account with this name, in any case of ASCII letters.
   * @returns null: there is no such account, its source is not one of `formerSources`, it has a password, or it is an administrator's
   */
  takeOver(username: string, formerSources: readonly Source[], newSource: Source): Promise<Account | null> {
    return this.session.firstRow<Account>(
      `UPDATE users u SET source = $3
        WHERE lower(u.username COLLATE "C") = lower($1 COLLATE "C") AND u.source = ANY ($2) AND u.password_hash IS NULL
          AND u.role = 'user'
       RETURNING ${ACCOUNT_COLUMNS}`,
      [username, formerSources, newSource],
    );
  }

  /** Sets or removes the e-mail address. @returns the stored address; null: none was given, or another account has it */
  private async setEmail(id: number, email: string | null): Promise<string | null> {
    const update = 'UPDATE users SET email = $2 WHERE id = $1';
    if ((await this.session.queryUnlessTaken(EMAIL_INDEX, update, [id, email])) !== null) return email;
    await this.session.execute(update, [id, null]);
    return null;
  }

  /** Changes an account. Never removes the last active administrator, also when changes run concurrently. */
  change(id: number, { username, email, ...edit }: AccountEdit): Promise<AccountChangeOutcome> {
    return this.session.run(async () => {
      const administratorIds = await this.lockAdministrators();
      const row = await this.session.firstRow<Account & Activation & { roleByGroup: boolean }>(
        `SELECT ${ACCOUNT_COLUMNS}, u.role_by_group AS "roleByGroup", u.deactivated_by AS "deactivatedBy"
           FROM users u WHERE u.id = $1 FOR NO KEY UPDATE`,
        [id],
      );
      if (row === null) return { kind: 'unknown' };
      const { roleByGroup, deactivatedBy: deactivator, ...oldAccount } = row;
      const { isActive, deactivatedBy } = activationAfter(row, edit);
      const staysInactive = !oldAccount.isActive && !isActive;
      const formerDeactivator = staysInactive && deactivatedBy !== deactivator ? deactivator : null;
      const role = edit.role ?? oldAccount.role;
      const account = { ...oldAccount, role, isActive, username: username ?? oldAccount.username };
      if (removesLastAdministrator(administratorIds, account)) return { kind: 'last-administrator' };
      if (account.username !== oldAccount.username) {
        if (oldAccount.hasPassword && edit.changedBy !== 'scim') return { kind: 'has-password' };
        const holder =
          serviceAccountConflicts([account], this.settings.acl.serviceAccounts).get(account.username) ??
          (await this.names.rename(oldAccount, account.username));
        if (holder !== null) return { kind: 'name-taken', holder };
      }
      await this.session.execute(
        'UPDATE users SET username = $2, role = $3, role_by_group = $4, is_active = $5, deactivated_by = $6 WHERE id = $1',
        [id, account.username, account.role, roleByGroup && account.role === 'admin', isActive, deactivatedBy],
      );
      if (email !== undefined) account.email = await this.setEmail(id, email);
      return { kind: 'changed', oldAccount, account, formerDeactivator };
    });
  }

  /** Gives members of the group the role of administrators, and takes it away from former members. @param group null: none is configured */
  async updateRoles(group: AdministratorsGroup | null): Promise<RoleChanges> {
    const values = [group?.name ?? null, group?.source ?? null];
    if ((await this.session.firstRow(SELECT_MISMATCHES, values)) === null) return { promotions: [], demotions: [] };
    return this.session.run(async () => {
      const administratorIds = await this.lockAdministrators();
      const mismatches = await this.session.query<RoleMismatch>(`${SELECT_MISMATCHES} FOR NO KEY UPDATE OF u`, values);
      const roleChanges = planRoles(mismatches, administratorIds);
      const update = 'UPDATE users SET role = $2, role_by_group = $3 WHERE id = ANY ($1)';
      await this.session.execute(update, [roleChanges.promotions.map(({ id }) => id), 'admin', true]);
      await this.session.execute(update, [roleChanges.demotions.map(({ id }) => id), 'user', false]);
      return roleChanges;
    });
  }

  async isInGroup(userId: number, { name, source }: AdministratorsGroup): Promise<boolean> {
    const select = `SELECT FROM (${SELECT_MEMBER_IDS}) AS members WHERE user_id = $3`;
    return (await this.session.firstRow(select, [name, source, userId])) !== null;
  }

  async hasActiveAdministrator(): Promise<boolean> {
    const select = `SELECT FROM users WHERE role = 'admin' AND is_active LIMIT 1`;
    return (await this.session.queryPrepared('any_administrator', select, [])).length > 0;
  }

  /**
   * Locks all active administrators with a password that can be used now, so that the second of two concurrent changes sees the result of
   * the first. The fixed order prevents deadlocks. @returns their ids
   */
  private async lockAdministrators(): Promise<number[]> {
    const rows = await this.session.query<{ id: number }>(
      `SELECT id FROM users WHERE role = 'admin' AND is_active AND password_hash IS NOT NULL
          AND (one_time_until IS NULL OR one_time_until > $1)
        ORDER BY id FOR NO KEY UPDATE`,
      [this.clock.now()],
    );
    return rows.map(({ id }) => id);
  }
}

function filterValues({ text, role, isActive, source }: UserFilter): unknown[] {
  return [text, role, isActive, source];
}

/** The service accounts that already have a requested name, by the requested name. */
function serviceAccountConflicts(
  accounts: readonly Pick<NewAccount, 'username'>[],
  reservedNames: readonly string[],
): Map<string, NameHolder> {
  const reservedByKey = new Map(reservedNames.map((name) => [foldedName(name), name]));
  return new Map(
    accounts.flatMap(({ username }): [string, NameHolder][] => {
      const name = reservedByKey.get(foldedName(username));
      return name === undefined ? [] : [[username, { name, holder: 'service-account' }]];
    }),
  );
}
