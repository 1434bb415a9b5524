import { Injectable } from '@nestjs/common';
import type { EntityManager, SelectQueryBuilder } from 'typeorm';
import { columnArrays } from '../../platform/infrastructure/column-arrays.js';
import { DatabaseSession, violatedConstraint } from '../../platform/infrastructure/database-session.js';
import {
  type Account,
  activationAfter,
  type AccountChange,
  type AccountEdit,
  type AccountToProve,
  type AccountUse,
  type EmailChange,
  type NewAccount,
  type NewHash,
  type NewRegistration,
  PrincipalNames,
  type Registration,
  type Source,
  takesLastAdministrator,
  type Taken,
  type UserFilter,
  UserStore,
} from '../domain/account.js';
import { ACCOUNT_COLUMNS } from '../account-columns.js';
import { accountKey } from '../domain/account-name.js';
import { lockAdministrators } from './administrators-lock.js';
import { PrincipalNameRow, UserRow } from './user.entity.js';

/** The indexes of migration 0002 fold ASCII letters only; a search must fold likewise to use them. */
const SAME_USERNAME = 'lower(u.username COLLATE "C") = lower(:username COLLATE "C")';

/** Three names are what a row of a list has room for. */
const USES = `
  SELECT u.id, coalesce(g.names[1:3], '{}') AS groups, coalesce(cardinality(g.names), 0) AS "groupCount",
         (SELECT e.at FROM audit_events e WHERE e.actor_id = u.id AND e.event = 'login_succeeded'
           ORDER BY e.id DESC LIMIT 1) AS "lastSignInAt",
         ARRAY (SELECT name FROM principal_names WHERE former_of = u.id ORDER BY name) AS "formerNames"
    FROM users u LEFT JOIN LATERAL
         (SELECT array_agg(name ORDER BY lower(name), name) AS names
            FROM groups JOIN group_members m ON m.group_id = groups.id WHERE m.user_id = u.id) g ON true
   WHERE u.id = ANY ($1)`;

@Injectable()
export class TypeormUserStore extends UserStore {
  constructor(
    private readonly session: DatabaseSession,
    private readonly names: PrincipalNames,
  ) {
    super();
  }

  override async register(registration: NewRegistration): Promise<Registration> {
    try {
      const account = await this.session.manager.transaction((tx) => insertAccount(tx, registration));
      return { kind: 'registered', account };
    } catch (error) {
      const constraint = violatedConstraint(error);
      if (constraint === 'users_email_in_any_case') return { kind: 'email-taken' };
      if (constraint !== null) return { kind: 'username-taken' };
      throw error;
    }
  }

  override async taken(username: string, email: string): Promise<Taken | null> {
    const [{ name, address }] = await this.session.manager.query<[{ name: boolean; address: boolean }]>(
      `SELECT EXISTS (SELECT FROM principal_names WHERE lower(name COLLATE "C") = lower($1 COLLATE "C")) AS name,
              EXISTS (SELECT FROM users WHERE lower(email COLLATE "C") = lower($2 COLLATE "C")) AS address`,
      [username, email],
    );
    return name ? 'username-taken' : address ? 'email-taken' : null;
  }

  override async add(accounts: readonly NewAccount[], at: Date): Promise<Account[]> {
    const withEmail = await this.insert(accounts, at);
    const without = accounts.filter(({ username }) => !withEmail.has(username));
    const others = await this.insert(
      without.map((account) => ({ ...account, email: null })),
      at,
    );
    return accounts.flatMap(({ username }) => withEmail.get(username) ?? others.get(username) ?? []);
  }

  /** Those whose e-mail addresses are free, by name. */
  private async insert(accounts: readonly NewAccount[], at: Date): Promise<Map<string, Account>> {
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
      [...columnArrays(rows), at],
    );
    return new Map(made.map((account) => [account.username, account]));
  }

  override async named(usernames: readonly string[]): Promise<Account[]> {
    return this.session.manager.query<Account[]>(`SELECT ${ACCOUNT_COLUMNS} FROM users u WHERE u.username = ANY ($1)`, [
      usernames,
    ]);
  }

  override async findByUsername(username: string): Promise<AccountToProve | null> {
    const row = await this.session.manager.createQueryBuilder(UserRow, 'u').where(SAME_USERNAME, { username }).getOne();
    return row === null ? null : withHash(row);
  }

  override async findById(id: number): Promise<AccountToProve | null> {
    const row = await this.session.manager.findOneBy(UserRow, { id });
    return row === null ? null : withHash(row);
  }

  override async replaceHash(id: number, checkedHash: string, next: NewHash): Promise<boolean> {
    const unchanged = { id, passwordHash: checkedHash, isActive: true };
    const { affected } = await this.session.manager.update(UserRow, unchanged, columns(next));
    return affected === 1;
  }

  override async setHash(id: number, next: NewHash): Promise<boolean> {
    const { affected } = await this.session.manager.update(UserRow, { id }, columns(next));
    return affected === 1;
  }

  override async changeEmail(id: number, email: string, checkedHash: string): Promise<EmailChange> {
    try {
      const unchanged = { id, passwordHash: checkedHash, isActive: true };
      const { affected } = await this.session.manager.update(UserRow, unchanged, { email });
      return affected === 1 ? 'changed' : 'outdated';
    } catch (error) {
      if (violatedConstraint(error) === 'users_email_in_any_case') return 'email-taken';
      throw error;
    }
  }

  override async page(filter: UserFilter, after: number | null, limit: number): Promise<Account[]> {
    const query = this.session.manager.createQueryBuilder(UserRow, 'u').orderBy('u.id').limit(limit);
    if (after !== null) query.andWhere('u.id > :after', { after });
    return (await filtered(query, filter).getMany()).map(toAccount);
  }

  override async useOf(ids: readonly number[]): Promise<Map<number, AccountUse>> {
    const rows = await this.session.manager.query<(AccountUse & { id: number })[]>(USES, [ids]);
    return new Map(rows.map(({ id, ...use }) => [id, use]));
  }

  override count(filter: UserFilter): Promise<number> {
    return filtered(this.session.manager.createQueryBuilder(UserRow, 'u'), filter).getCount();
  }

  override async takeOver(username: string, from: readonly Source[], to: Source): Promise<Account | null> {
    const [[account = null]] = await this.session.manager.query<[Account[], number]>(
      `UPDATE users u SET source = $3
        WHERE lower(u.username COLLATE "C") = lower($1 COLLATE "C") AND u.source = ANY ($2) AND u.password_hash IS NULL
          AND u.role = 'user'
       RETURNING ${ACCOUNT_COLUMNS}`,
      [username, from, to],
    );
    return account;
  }

  /** Null: none, or another account has it. */
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

  override change(id: number, { username, email, ...edit }: AccountEdit, at: Date): Promise<AccountChange> {
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
        const holder = await this.names.rename(before, account.username, at);
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

async function insertAccount(tx: EntityManager, registration: NewRegistration): Promise<Account> {
  const { username, createdAt } = registration;
  // The name first: if both are taken, the name is reported.
  const name = { name: username, accountKey: accountKey(username) };
  await tx.insert(PrincipalNameRow, { ...name, holder: 'account', claimedAt: createdAt });
  const fields = {
    source: 'local',
    oneTimeUntil: null,
    isActive: true,
    roleByGroup: false,
    deactivatedBy: null,
  } as const;
  const row = tx.create(UserRow, { ...registration, ...fields });
  await tx.insert(UserRow, row);
  return toAccount(row);
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
