import { Injectable } from '@nestjs/common';
import { Clock } from '../kernel/clock.js';
import { Ids } from '../kernel/ids.js';
import { foldedName } from '../kernel/name.js';
import { columnArrays, DatabaseSession } from '../platform/database/database-session.js';
import { Settings } from '../platform/settings/settings.js';
import {
  type Account,
  type AccountChange,
  type AccountEdit,
  type AccountToProve,
  type Activation,
  activationAfter,
  type Creation,
  type EmailChange,
  type FieldTaken,
  type NameHolder,
  type NewAccount,
  type NewHash,
  type Source,
  takesLastAdministrator,
  type UsedAccount,
  type UserFilter,
} from './domain/account.js';
import { type AdministratorsGroup, type OutdatedRole, planRoles, type RoleChanges } from './domain/administrators.js';
import { PrincipalNames } from './principal-names.store.js';

/** The columns of `users u` that make an Account, also for statements that read a credential together with its account. */
export const ACCOUNT_COLUMNS = `u.id, u.username, u.email, u.role, u.source, u.password_hash IS NOT NULL AS "hasPassword",
  u.is_active AS "isActive", u.created_at AS "createdAt", u.one_time_until AS "oneTimeUntil"`;

/** The indexes of migration 0002 fold ASCII letters only; a search must fold likewise to use them. */
const SAME_USERNAME = 'lower(u.username COLLATE "C") = lower($1 COLLATE "C")';

const SAME_EMAIL = 'users_email_in_any_case';

/** Takes the parameters of `filterValues`. Uses strpos instead of LIKE, where the underscores of usernames would be wildcards. */
const FILTERED = `
  FROM users u
 WHERE ($1::text IS NULL OR strpos(lower(u.username), lower($1)) > 0 OR strpos(lower(u.email), lower($1)) > 0)
   AND ($2::text IS NULL OR u.role = $2) AND ($3::boolean IS NULL OR u.is_active = $3)
   AND ($4::text IS NULL OR u.source = $4)`;

/** Selects UsedAccounts. The list shows three groups of each account. */
const SELECT_USED = `
  SELECT ${ACCOUNT_COLUMNS},
         ARRAY (SELECT name FROM groups JOIN group_members m ON m.group_id = groups.id WHERE m.user_id = u.id
                 ORDER BY lower(name), name LIMIT 3) AS groups,
         (SELECT count(*)::integer FROM group_members m WHERE m.user_id = u.id) AS "groupCount",
         (SELECT e.at FROM audit_events e WHERE e.actor_id = u.id AND e.event = 'login_succeeded'
           ORDER BY e.id DESC LIMIT 1) AS "lastSignInAt",
         ARRAY (SELECT name FROM principal_names WHERE former_of = u.id ORDER BY name) AS "formerNames"`;

/** Ids of the members of the group with name $1 and source $2. Names are compared as the index compares them. */
const MEMBERS = `
  SELECT m.user_id FROM groups g JOIN group_members m ON m.group_id = g.id
   WHERE lower(g.name COLLATE "C") = lower($1::text COLLATE "C") AND g.source = $2 AND g.deleted_at IS NULL
     AND m.user_id IS NOT NULL`;

/** Selects OutdatedRoles. `role_by_group` marks the administrators whose role comes from the identity provider's group. */
const OUTDATED = `
  WITH members AS (${MEMBERS})
  SELECT u.id, u.username, u.is_active AS "isActive", u.role = 'user' AS "isMember" FROM users u
   WHERE (u.role = 'user' AND u.id IN (SELECT user_id FROM members))
      OR (u.role_by_group AND u.id NOT IN (SELECT user_id FROM members))
   ORDER BY u.id`;

/** Rows of one statement, which must end long before the statement timeout. */
const CHUNK = 1_000;

/** The most characters of a name. */
const MAX_NAME = 128;

export interface Creating {
  /** Called with the number of accounts created so far. */
  report?: (made: number) => void;
  /** Names of service accounts, which the start of the service may not have claimed yet; by default those of the settings. */
  reserved?: readonly string[];
}

/** Accounts, with the names that they hold. Usernames and e-mail addresses are compared without case. */
@Injectable()
export class UserStore {
  constructor(
    private readonly session: DatabaseSession,
    private readonly names: PrincipalNames,
    private readonly settings: Settings,
    private readonly ids: Ids,
    private readonly clock: Clock,
  ) {}

  /**
   * Creates accounts in the running transaction; their names must differ in more than case. All names are claimed before the e-mail
   * addresses are written, as in a registration, so that concurrent calls do not deadlock.
   * @returns outcomes in the order of the accounts
   */
  async create(
    accounts: readonly NewAccount[],
    { report = () => undefined, reserved = this.settings.acl.serviceAccounts }: Creating = {},
  ): Promise<Creation[]> {
    const taken = ofServiceAccounts(accounts, reserved);
    const asked = accounts.filter(({ username }) => !taken.has(username));
    const held = await this.names.claimForAccounts(asked.map(({ username }) => username));
    for (const [name, holder] of held) taken.set(name, holder);
    const select = `SELECT ${ACCOUNT_COLUMNS} FROM users u WHERE u.username = ANY ($1)`;
    const found = await this.session.query<Account>(select, [[...taken.keys()]]);
    const existing = new Map(found.map((account) => [account.username, account]));
    const claimed = asked.filter(({ username }) => !taken.has(username));
    const made = new Map<string, Account>();
    for (let start = 0; start < claimed.length; start += CHUNK) {
      const chunk = await this.add(claimed.slice(start, start + CHUNK));
      for (const account of chunk) made.set(account.username, account);
      report(made.size);
    }
    return accounts.map(({ username, email }): Creation => {
      const account = made.get(username);
      if (account !== undefined) return { kind: 'created', account, isEmailTaken: account.email !== email };
      const exists = existing.get(username);
      if (exists !== undefined) return { kind: 'exists', account: exists };
      return { kind: 'name-taken', holder: taken.get(username) ?? { name: username, holder: 'account' } };
    });
  }

  /** Frees the names of an account that is gone for good, so that a new account can take them. @returns the account's name from now on */
  async releaseName({ id, username }: Pick<Account, 'id' | 'username'>): Promise<string> {
    // The first of the two names may have a holder; the second cannot be guessed.
    for (const suffix of [` (deleted ${id})`, ` (deleted ${id}, ${this.ids.secret()})`]) {
      const next =
        Array.from(username)
          .slice(0, MAX_NAME - suffix.length)
          .join('') + suffix;
      if (await this.names.release({ id, username }, next)) return next;
    }
    throw new Error(`the name of account ${id} cannot be released`);
  }

  /** Why a registration would fail now; null: it would not. */
  async findTaken(username: string, email: string): Promise<FieldTaken | null> {
    const { name, address } = await this.session.oneRow<{ name: boolean; address: boolean }>(
      `SELECT EXISTS (SELECT FROM principal_names WHERE lower(name COLLATE "C") = lower($1 COLLATE "C")) AS name,
              EXISTS (SELECT FROM users WHERE lower(email COLLATE "C") = lower($2 COLLATE "C")) AS address`,
      [username, email],
    );
    return name ? 'username_taken' : address ? 'email_taken' : null;
  }

  /** Adds accounts whose names are claimed, without e-mail addresses that other accounts have. @returns them in their order */
  private async add(accounts: readonly NewAccount[]): Promise<Account[]> {
    const withEmail = await this.insert(accounts);
    const without = accounts.filter(({ username }) => !withEmail.has(username));
    const others = await this.insert(without.map((account) => ({ ...account, email: null })));
    return accounts.flatMap(({ username }) => withEmail.get(username) ?? others.get(username) ?? []);
  }

  /** Inserts accounts whose e-mail addresses are free, and skips the others. @returns the inserted ones by name */
  private async insert(accounts: readonly NewAccount[]): Promise<Map<string, Account>> {
    if (accounts.length === 0) return new Map();
    const rows = accounts.map(({ username, email, role, source, password }) => [
      ...[username, email, role, source],
      ...[password?.hash ?? null, password?.oneTimeUntil ?? null],
    ]);
    const made = await this.session.query<Account>(
      `INSERT INTO users AS u (username, email, role, source, password_hash, one_time_until, is_active, created_at)
       SELECT username, email, role, source, password_hash, one_time_until, true, $7
         FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[]) WITH ORDINALITY
              AS asked (username, email, role, source, password_hash, one_time_until, place)
        ORDER BY place
       ON CONFLICT (lower(email COLLATE "C")) DO NOTHING RETURNING ${ACCOUNT_COLUMNS}`,
      [...columnArrays(rows), this.clock.now()],
    );
    return new Map(made.map((account) => [account.username, account]));
  }

  findForLogin(username: string): Promise<AccountToProve | null> {
    return this.findOne(SAME_USERNAME, username);
  }

  findWithHash(id: number): Promise<AccountToProve | null> {
    return this.findOne('u.id = $1', id);
  }

  async find(id: number): Promise<Account | null> {
    return (await this.findWithHash(id))?.account ?? null;
  }

  private async findOne(condition: string, value: unknown): Promise<AccountToProve | null> {
    const select = `SELECT ${ACCOUNT_COLUMNS}, u.password_hash AS "passwordHash" FROM users u WHERE ${condition}`;
    const row = await this.session.firstRow<Account & { passwordHash: string | null }>(select, [value]);
    if (row === null) return null;
    const { passwordHash, ...account } = row;
    return { account, passwordHash };
  }

  /** Replaces the checked hash. False: meanwhile the hash was changed or the account deactivated. */
  async replaceHash(id: number, checkedHash: string, { hash, oneTimeUntil }: NewHash): Promise<boolean> {
    const update = `UPDATE users SET password_hash = $2, one_time_until = $3 WHERE id = $1 AND password_hash = $4 AND is_active`;
    return (await this.session.execute(update, [id, hash, oneTimeUntil, checkedHash])) === 1;
  }

  /** Sets a password without comparing the present hash. */
  async setHash(id: number, { hash, oneTimeUntil }: NewHash): Promise<void> {
    const update = 'UPDATE users SET password_hash = $2, one_time_until = $3 WHERE id = $1';
    await this.session.execute(update, [id, hash, oneTimeUntil]);
  }

  /** Changes the address if the account still has the checked hash and is active. */
  async changeEmail(id: number, email: string, checkedHash: string): Promise<EmailChange> {
    const update = 'UPDATE users SET email = $2 WHERE id = $1 AND password_hash = $3 AND is_active RETURNING id';
    const changed = await this.session.queryUnlessTaken(SAME_EMAIL, update, [id, email, checkedHash]);
    return changed === null ? 'email_taken' : changed.length === 1 ? 'changed' : 'outdated';
  }

  /** At most `limit` accounts by rising id, beginning after the id `after` (null: at the first). */
  page(filter: UserFilter, after: number | null, limit: number): Promise<UsedAccount[]> {
    const list = `${SELECT_USED} ${FILTERED} AND u.id > $5 ORDER BY u.id LIMIT $6`;
    return this.session.query<UsedAccount>(list, [...filterValues(filter), after ?? 0, limit]);
  }

  findUsed(id: number): Promise<UsedAccount | null> {
    return this.session.firstRow<UsedAccount>(`${SELECT_USED} FROM users u WHERE u.id = $1`, [id]);
  }

  async count(filter: UserFilter): Promise<number> {
    const count = `SELECT count(*)::integer AS count ${FILTERED}`;
    return (await this.session.oneRow<{ count: number }>(count, filterValues(filter))).count;
  }

  /**
   * Changes the source of the account with a name, compared without the case of ASCII letters, to `to`.
   * @returns null: there is none, its source is not in `from`, it has a password, or it is an administrator's
   */
  takeOver(username: string, from: readonly Source[], to: Source): Promise<Account | null> {
    return this.session.firstRow<Account>(
      `UPDATE users u SET source = $3
        WHERE lower(u.username COLLATE "C") = lower($1 COLLATE "C") AND u.source = ANY ($2) AND u.password_hash IS NULL
          AND u.role = 'user'
       RETURNING ${ACCOUNT_COLUMNS}`,
      [username, from, to],
    );
  }

  /** @returns the stored address; null: none was given, or another account has it */
  private async setEmail(id: number, email: string | null): Promise<string | null> {
    const update = 'UPDATE users SET email = $2 WHERE id = $1';
    if ((await this.session.queryUnlessTaken(SAME_EMAIL, update, [id, email])) !== null) return email;
    await this.session.execute(update, [id, null]);
    return null;
  }

  /** Changes an account. Never removes the last active administrator, also when changes run concurrently. */
  change(id: number, { username, email, ...edit }: AccountEdit): Promise<AccountChange> {
    return this.session.run(async () => {
      const administrators = await this.lockAdministrators();
      const row = await this.session.firstRow<Account & Activation & { roleByGroup: boolean }>(
        `SELECT ${ACCOUNT_COLUMNS}, u.role_by_group AS "roleByGroup", u.deactivated_by AS "deactivatedBy"
           FROM users u WHERE u.id = $1 FOR NO KEY UPDATE`,
        [id],
      );
      if (row === null) return { kind: 'unknown' };
      const { roleByGroup, deactivatedBy: deactivator, ...before } = row;
      if (before.hasPassword && edit.by === 'scim') return { kind: 'has-password' };
      const { isActive, deactivatedBy } = activationAfter(row, edit);
      const staysInactive = !before.isActive && !isActive;
      const takenFrom = staysInactive && deactivatedBy !== deactivator ? deactivator : null;
      const account = { ...before, role: edit.role ?? before.role, isActive, username: username ?? before.username };
      if (takesLastAdministrator(administrators, account)) return { kind: 'last-administrator' };
      if (account.username !== before.username) {
        if (before.hasPassword) return { kind: 'has-password' };
        const holder =
          ofServiceAccounts([account], this.settings.acl.serviceAccounts).get(account.username) ??
          (await this.names.rename(before, account.username));
        if (holder !== null) return { kind: 'name-taken', holder };
      }
      await this.session.execute(
        'UPDATE users SET username = $2, role = $3, role_by_group = $4, is_active = $5, deactivated_by = $6 WHERE id = $1',
        [id, account.username, account.role, roleByGroup && account.role === 'admin', isActive, deactivatedBy],
      );
      if (email !== undefined) account.email = await this.setEmail(id, email);
      return { kind: 'changed', before, account, takenFrom };
    });
  }

  /** Gives and takes roles, so that exactly the group's members have a role by the group. @param group null: none is configured */
  async updateRoles(group: AdministratorsGroup | null): Promise<RoleChanges> {
    const values = [group?.name ?? null, group?.source ?? null];
    if ((await this.session.firstRow(OUTDATED, values)) === null) return { promoted: [], demoted: [] };
    return this.session.run(async () => {
      const administrators = await this.lockAdministrators();
      const outdated = await this.session.query<OutdatedRole>(`${OUTDATED} FOR NO KEY UPDATE OF u`, values);
      const changes = planRoles(outdated, administrators);
      const update = 'UPDATE users SET role = $2, role_by_group = $3 WHERE id = ANY ($1)';
      await this.session.execute(update, [changes.promoted.map(({ id }) => id), 'admin', true]);
      await this.session.execute(update, [changes.demoted.map(({ id }) => id), 'user', false]);
      return changes;
    });
  }

  async isInGroup(userId: number, { name, source }: AdministratorsGroup): Promise<boolean> {
    const found = `SELECT FROM (${MEMBERS}) AS members WHERE user_id = $3`;
    return (await this.session.firstRow(found, [name, source, userId])) !== null;
  }

  /** Whether any active account is an administrator. */
  async hasAdministrator(): Promise<boolean> {
    const found = `SELECT FROM users WHERE role = 'admin' AND is_active LIMIT 1`;
    return (await this.session.queryPrepared('any_administrator', found, [])).length > 0;
  }

  /**
   * Locks all active administrators who have a password, before a change that could remove one, so that the second of two concurrent
   * changes sees the result of the first. The order is fixed, to prevent deadlocks. @returns their ids
   */
  private async lockAdministrators(): Promise<number[]> {
    const rows = await this.session.query<{ id: number }>(
      `SELECT id FROM users WHERE role = 'admin' AND is_active AND password_hash IS NOT NULL ORDER BY id FOR NO KEY UPDATE`,
    );
    return rows.map(({ id }) => id);
  }
}

function filterValues({ text, role, isActive, source }: UserFilter): unknown[] {
  return [text, role, isActive, source];
}

/** The accounts that have the name of a service account. */
function ofServiceAccounts(
  accounts: readonly Pick<NewAccount, 'username'>[],
  reserved: readonly string[],
): Map<string, NameHolder> {
  const held = new Map(reserved.map((name) => [foldedName(name), name]));
  return new Map(
    accounts.flatMap(({ username }): [string, NameHolder][] => {
      const name = held.get(foldedName(username));
      return name === undefined ? [] : [[username, { name, holder: 'service-account' }]];
    }),
  );
}
