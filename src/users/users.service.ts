import { Injectable } from '@nestjs/common';
import { Clock } from '../kernel/clock.js';
import {
  type Account,
  type AccountWithHash,
  type Role,
  type AccountChange,
  type EmailChange,
  type NewAccount,
  type NewHash,
  type Registration,
  type Taken,
  type UserFilter,
  UserStore,
  type HeldName,
  PrincipalNames,
} from './domain/account.js';

/** Accounts, and the names that they and engine principals hold. */
@Injectable()
export class UsersService {
  constructor(
    private readonly store: UserStore,
    private readonly names: PrincipalNames,
    private readonly clock: Clock,
  ) {}

  /**
   * Claims names for engine principals, for good; to be called before a grant or a policy names one.
   * @returns names that cannot be had, because an account holds them or because they are held in another spelling.
   */
  claimEngineNames(names: readonly string[]): Promise<HeldName[]> {
    return this.names.claimForEngine(names, this.clock.now());
  }

  /** The same names, without claiming the others. */
  namesClosedToEngine(names: readonly string[]): Promise<HeldName[]> {
    return this.names.closedToEngine(names);
  }

  register(newAccount: Omit<NewAccount, 'createdAt'>): Promise<Registration> {
    return this.store.register({ ...newAccount, createdAt: this.clock.now() });
  }

  /** Why a registration would fail now, checked before a hash is computed for it. */
  taken(username: string, email: string): Promise<Taken | null> {
    return this.store.taken(username, email);
  }

  findForLogin(username: string): Promise<AccountWithHash | null> {
    return this.store.findByUsername(username);
  }

  findWithHash(id: number): Promise<AccountWithHash | null> {
    return this.store.findById(id);
  }

  async find(id: number): Promise<Account | null> {
    return (await this.store.findById(id))?.account ?? null;
  }

  page(filter: UserFilter, after: number | null, limit: number): Promise<Account[]> {
    return this.store.page(filter, after, limit);
  }

  change(id: number, change: { isActive?: boolean; role?: Role }): Promise<AccountChange> {
    return this.store.change(id, change);
  }

  /** False: the hash that was checked is no longer there, or the account was deactivated. */
  replaceHash(id: number, checkedHash: string, next: NewHash): Promise<boolean> {
    return this.store.replaceHash(id, checkedHash, next);
  }

  setHash(id: number, next: NewHash): Promise<boolean> {
    return this.store.setHash(id, next);
  }

  /** Where the hash that was checked is still there, and the account active. */
  changeEmail(id: number, email: string, checkedHash: string): Promise<EmailChange> {
    return this.store.changeEmail(id, email, checkedHash);
  }
}
