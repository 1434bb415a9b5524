import { Injectable } from '@nestjs/common';
import type { EntityManager, SelectQueryBuilder } from 'typeorm';
import { DatabaseSession, violatedConstraint } from '../../platform/infrastructure/database-session.js';
import {
  type Account,
  type AccountWithHash,
  type Role,
  takesLastAdministrator,
  type AccountChange,
  type EmailChange,
  type NewAccount,
  type NewHash,
  type Registration,
  type Taken,
  type UserFilter,
  UserStore,
} from '../domain/account.js';
import { PrincipalNameRow, UserRow } from './user.entity.js';

/** The indexes of migration 0002 fold ASCII letters only; a search must fold likewise to use them. */
const SAME_USERNAME = 'lower(u.username COLLATE "C") = lower(:username COLLATE "C")';

@Injectable()
export class TypeormUserStore extends UserStore {
  constructor(private readonly session: DatabaseSession) {
    super();
  }

  override async register(newAccount: NewAccount): Promise<Registration> {
    try {
      const account = await this.session.manager.transaction((tx) => insertAccount(tx, newAccount));
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

  override async findByUsername(username: string): Promise<AccountWithHash | null> {
    const row = await this.session.manager.createQueryBuilder(UserRow, 'u').where(SAME_USERNAME, { username }).getOne();
    return row === null ? null : withHash(row);
  }

  override async findById(id: number): Promise<AccountWithHash | null> {
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

  override change(id: number, change: { isActive?: boolean; role?: Role }): Promise<AccountChange> {
    return this.session.manager.transaction(async (tx) => {
      // Every change that could take an administrator away locks all of them, in one order: the second of two sees the first one's result.
      const administrators = await tx
        .createQueryBuilder(UserRow, 'u')
        .where(`u.role = 'admin' AND u.is_active`)
        .orderBy('u.id')
        .setLock('pessimistic_write')
        .getMany();
      const row = await tx.findOne(UserRow, { where: { id }, lock: { mode: 'pessimistic_write' } });
      if (row === null) return { kind: 'unknown' };
      const before = toAccount(row);
      const account = { ...before, ...change };
      const ids = administrators.map((administrator) => administrator.id);
      if (takesLastAdministrator(ids, account)) return { kind: 'last-administrator' };
      await tx.update(UserRow, { id }, { role: account.role, isActive: account.isActive });
      return { kind: 'changed', before, account };
    });
  }
}

async function insertAccount(tx: EntityManager, newAccount: NewAccount): Promise<Account> {
  const { username, createdAt } = newAccount;
  // The name first: if both are taken, the name is reported.
  await tx.insert(PrincipalNameRow, { name: username, holder: 'account', claimedAt: createdAt });
  const row = tx.create(UserRow, { ...newAccount, oneTimeUntil: null, isActive: true });
  await tx.insert(UserRow, row);
  return toAccount(row);
}

function filtered(
  query: SelectQueryBuilder<UserRow>,
  { text, role, isActive }: UserFilter,
): SelectQueryBuilder<UserRow> {
  if (text !== null) {
    // strpos, not LIKE: an underscore is a letter of usernames, not a wildcard.
    query.andWhere('(strpos(lower(u.username), lower(:text)) > 0 OR strpos(lower(u.email), lower(:text)) > 0)', {
      text,
    });
  }
  if (role !== null) query.andWhere('u.role = :role', { role });
  if (isActive !== null) query.andWhere('u.is_active = :isActive', { isActive });
  return query;
}

function columns({ hash, oneTimeUntil }: NewHash): Pick<UserRow, 'passwordHash' | 'oneTimeUntil'> {
  return { passwordHash: hash, oneTimeUntil };
}

function withHash(row: UserRow): AccountWithHash {
  return { account: toAccount(row), passwordHash: row.passwordHash };
}

function toAccount({ id, username, email, role, isActive, createdAt, oneTimeUntil }: UserRow): Account {
  return { id, username, email, role, isActive, createdAt, oneTimeUntil };
}
