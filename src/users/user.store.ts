import { Injectable } from '@nestjs/common';
import type { SelectQueryBuilder } from 'typeorm';
import { Clock } from '../kernel/clock.js';
import { columnArrays, DatabaseSession, violatedConstraint } from '../platform/database/database-session.js';
import { lockAdministrators } from './administrator.store.js';
import {
  type Account,
  type AccountChange,
  type AccountEdit,
  accountKey,
  type AccountToProve,
  type AccountUse,
  activationAfter,
  type EmailChange,
  type FieldTaken,
  type NewAccount,
  type NewHash,
  type NewRegistration,
  type Registration,
  type Source,
  takesLastAdministrator,
  type UserFilter,
} from './domain/account.js';
import { PrincipalNames } from './principal-names.store.js';
import { UserRow } from './user.entity.js';

/** The columns of `users u` that make an Account, for statements that read a credential together with its account. */
export const ACCOUNT_COLUMNS = `u.id, u.username, u.email, u.role, u.source, u.password_hash IS NOT NULL AS "hasPassword",
  u.is_active AS "isActive", u.created_at AS "createdAt", u.one_time_until AS "oneTimeUntil"`;

/** The indexes of migration 0002 fold ASCII letters only; a search must fold likewise to use them. */
const SAME_USERNAME = 'lower(u.username COLLATE "C") = lower(:username COLLATE "C")';

/** The list of accounts shows three groups of each. */
const USES = `
  SELECT u.id, coalesce(g.names[1:3], '{}') AS groups, coalesce(cardinality(g.names), 0) AS "groupCount",
         (SELECT e.at FROM audit_events e WHERE e.actor_id = u.id AND e.event = 'login_succeeded'
           ORDER BY e.id DESC LIMIT 1) AS "lastSignInAt",
         ARRAY (SELECT name FROM principal_names WHERE former_of = u.id ORDER BY name) AS "formerNames"
    FROM users u LEFT JOIN LATERAL
         (SELECT array_agg(name ORDER BY lower(name), name) AS names
            FROM groups JOIN group_members m ON m.group_id = groups.id WHERE m.user_id = u.id) g ON true
   WHERE u.id = ANY ($1)`;

/** Accounts. Usernames and e-mail addresses are looked up in any case. */
@Injectable()
export class UserStore {
  constructor(
    private readonly session: DatabaseSession,
    private readonly names: PrincipalNames,
    private readonly clock: Clock,
  ) {}

  /** Claims the name and makes the account, or neither; of many concurrent calls exactly one succeeds. */
  async register({ username, ...registration }: NewRegistration): Promise<Registration> {
    const now = this.clock.now();
    const claim = `INSERT INTO principal_names (name, holder, claimed_at, account_key) VALUES ($1, 'account', $2, $3)`;
    const unset = { oneTimeUntil: null, roleByGroup: false, deactivatedBy: null };
    try {
      const account = await this.session.manager.transaction(async (tx) => {
        // The name first: if both are taken, the name is reported.
        await tx.query(claim, [username, now, accountKey(username)]);
        const fields = { source: 'local', isActive: true, createdAt: now } as const;
        const row = tx.create(UserRow, { username, ...registration, ...unset, ...fields });
        await tx.insert(UserRow, row);
        return toAccount(row);
      });
      return { kind: 'registered', account };
    } catch (error) {
      const constraint = violatedConstraint(error);
      if (constraint === 'users_email_in_any_case') return { kind: 'email_taken' };
      if (constraint !== null) return { kind: 'username_taken' };
      throw error;
    }
  }

  /** Why a registration would fail now; null: it would not. */
  async taken(username: string, email: string): Promise<FieldTaken | null> {
    const [{ name, address }] = await this.session.manager.query<[{ name: boolean; address: boolean }]>(
      `SELECT EXISTS (SELECT FROM principal_names WHERE lower(name COLLATE "C") = lower($1 COLLATE "C")) AS name,
              EXISTS (SELECT FROM users WHERE lower(email COLLATE "C") = lower($2 COLLATE "C")) AS address`,
      [username, email],
    );
    return name ? 'username_taken' : address ? 'email_taken' : null;
  }

  /** Adds accounts whose names are claimed. @returns them in their order; without the e-mail address where another account has it */
  async add(accounts: readonly NewAccount[]): Promise<Account[]> {
    const withEmail = await this.insert(accounts);
    const without = accounts.filter(({ username }) => !withEmail.has(username));
    const others = await this.insert(without.map((account) => ({ ...account, email: null })));
    return accounts.flatMap(({ username }) => withEmail.get(username) ?? others.get(username) ?? []);
  }

  /** Inserts the accounts whose e-mail addresses are free. @returns them by name */
  private async insert(accounts: readonly NewAccount[]): Promise<Map<string, Account>> {
    if (accounts.length === 0) return new Map();
    const rows = accounts.map(({ username, email, role, source, password }) => [
      ...[username, email, role, source],
      ...[password?.hash ?? null, password?.oneTimeUntil ?? null],
    ]);
    const made = await this.session.manager.query<Account[]>(
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

  /** Accounts by their exact names. */
  async named(usernames: readonly string[]): Promise<Account[]> {
    return this.session.manager.query<Account[]>(`SELECT ${ACCOUNT_COLUMNS} FROM users u WHERE u.username = ANY ($1)`, [
      usernames,
    ]);
  }

  async findForLogin(username: string): Promise<AccountToProve | null> {
    const row = await this.session.manager.createQueryBuilder(UserRow, 'u').where(SAME_USERNAME, { username }).getOne();
    return row === null ? null : withHash(row);
  }

  async findWithHash(id: number): Promise<AccountToProve | null> {
    const row = await this.session.manager.findOneBy(UserRow, { id });
    return row === null ? null : withHash(row);
  }

  async find(id: number): Promise<Account | null> {
    return (await this.findWithHash(id))?.account ?? null;
  }

  /** Replaces the hash that was checked. False: it was changed meanwhile, or the account deactivated. */
  async replaceHash(id: number, checkedHash: string, next: NewHash): Promise<boolean> {
    const unchanged = { id, passwordHash: checkedHash, isActive: true };
    const { affected } = await this.session.manager.update(UserRow, unchanged, columns(next));
    return affected === 1;
  }

  /** Sets a password whatever the present one is. */
  async setHash(id: number, next: NewHash): Promise<void> {
    await this.session.manager.update(UserRow, { id }, columns(next));
  }

  /** Changes the address if the hash that was checked is still there and the account active. */
  async changeEmail(id: number, email: string, checkedHash: string): Promise<EmailChange> {
    try {
      const unchanged = { id, passwordHash: checkedHash, isActive: true };
      const { affected } = await this.session.manager.update(UserRow, unchanged, { email });
      return affected === 1 ? 'changed' : 'outdated';
    } catch (error) {
      if (violatedConstraint(error) === 'users_email_in_any_case') return 'email_taken';
      throw error;
    }
  }

  /** By rising id, beginning above `after` (null: at the first), at most `limit`. */
  async page(filter: UserFilter, after: number | null, limit: number): Promise<Account[]> {
    const query = this.session.manager.createQueryBuilder(UserRow, 'u').orderBy('u.id').limit(limit);
    if (after !== null) query.andWhere('u.id > :after', { after });
    return (await filtered(query, filter).getMany()).map(toAccount);
  }

  /** How accounts are used, by their ids. */
  async useOf(ids: readonly number[]): Promise<Map<number, AccountUse>> {
    const rows = await this.session.manager.query<(AccountUse & { id: number })[]>(USES, [ids]);
    return new Map(rows.map(({ id, ...use }) => [id, use]));
  }

  count(filter: UserFilter): Promise<number> {
    return filtered(this.session.manager.createQueryBuilder(UserRow, 'u'), filter).getCount();
  }

  /**
   * The account of a name, in any case of ASCII, becomes one of the source `to`.
   * @returns null: it is of another source than `from`, has a password, or is an administrator's
   */
  async takeOver(username: string, from: readonly Source[], to: Source): Promise<Account | null> {
    const [[account = null]] = await this.session.manager.query<[Account[], number]>(
      `UPDATE users u SET source = $3
        WHERE lower(u.username COLLATE "C") = lower($1 COLLATE "C") AND u.source = ANY ($2) AND u.password_hash IS NULL
          AND u.role = 'user'
       RETURNING ${ACCOUNT_COLUMNS}`,
      [username, from, to],
    );
    return account;
  }

  /** @returns the address that is stored; null: none, or another account has it */
  private async setEmail(id: number, email: string | null): Promise<string | null> {
    const set = (value: string | null) =>
      this.session.manager.transaction((tx) => tx.update(UserRow, { id }, { email: value }));
    try {
      await set(email);
      return email;
    } catch (error) {
      if (violatedConstraint(error) !== 'users_email_in_any_case') throw error;
      await set(null);
      return null;
    }
  }

  /** Never takes the last active administrator away, however many changes run at once. */
  change(id: number, { username, email, ...edit }: AccountEdit): Promise<AccountChange> {
    return this.session.run(async () => {
      const tx = this.session.manager;
      const administrators = await lockAdministrators(tx);
      const row = await tx.findOne(UserRow, { where: { id }, lock: { mode: 'for_no_key_update' } });
      if (row === null) return { kind: 'unknown' };
      const before = toAccount(row);
      if (before.hasPassword && edit.by === 'scim') return { kind: 'has-password' };
      const { isActive, deactivatedBy } = activationAfter(row, edit);
      const staysInactive = !before.isActive && !isActive;
      const takenFrom = staysInactive && deactivatedBy !== row.deactivatedBy ? row.deactivatedBy : null;
      const account = { ...before, role: edit.role ?? before.role, isActive, username: username ?? before.username };
      if (takesLastAdministrator(administrators, account)) return { kind: 'last-administrator' };
      if (account.username !== before.username) {
        if (before.hasPassword) return { kind: 'has-password' };
        const holder = await this.names.rename(before, account.username);
        if (holder !== null) return { kind: 'name-taken', holder };
      }
      const { role } = account;
      const roleByGroup = row.roleByGroup && role === 'admin';
      await tx.update(UserRow, { id }, { username: account.username, role, roleByGroup, isActive, deactivatedBy });
      if (email !== undefined) account.email = await this.setEmail(id, email);
      return { kind: 'changed', before, account, takenFrom };
    });
  }
}

function filtered(
  query: SelectQueryBuilder<UserRow>,
  { text, role, isActive, source }: UserFilter,
): SelectQueryBuilder<UserRow> {
  if (text !== null) {
    // strpos, not LIKE: an underscore is a letter of usernames, not a wildcard.
    query.andWhere('(strpos(lower(u.username), lower(:text)) > 0 OR strpos(lower(u.email), lower(:text)) > 0)', {
      text,
    });
  }
  if (role !== null) query.andWhere('u.role = :role', { role });
  if (isActive !== null) query.andWhere('u.is_active = :isActive', { isActive });
  if (source !== null) query.andWhere('u.source = :source', { source });
  return query;
}

function columns({ hash, oneTimeUntil }: NewHash): Pick<UserRow, 'passwordHash' | 'oneTimeUntil'> {
  return { passwordHash: hash, oneTimeUntil };
}

function withHash(row: UserRow): AccountToProve {
  return { account: toAccount(row), passwordHash: row.passwordHash };
}

function toAccount({ passwordHash, ...row }: UserRow): Account {
  const { id, username, email, role, source, isActive, createdAt, oneTimeUntil } = row;
  return { id, username, email, role, source, hasPassword: passwordHash !== null, isActive, createdAt, oneTimeUntil };
}
