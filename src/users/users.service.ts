import { Injectable } from '@nestjs/common';
import { Clock } from '../kernel/clock.js';
import { Ids } from '../kernel/ids.js';
import { foldedName } from '../kernel/name.js';
import { Settings } from '../platform/settings.js';
import {
  type Account,
  type AccountChange,
  type AccountEdit,
  type AccountToProve,
  type AccountUse,
  type Creation,
  type EmailChange,
  type NameHolder,
  type NewAccount,
  type NewHash,
  type NewRegistration,
  type Registration,
  type Source,
  type Taken,
  type UserFilter,
  UserStore,
  type HeldName,
  PrincipalNames,
} from './domain/account.js';

/** Rows of one statement, which must end far below the statement timeout. */
const CHUNK = 1_000;

/** Characters of a name. */
const MAX_NAME = 128;

/** Accounts, and the names that they and engine principals hold. */
@Injectable()
export class UsersService {
  constructor(
    private readonly store: UserStore,
    private readonly names: PrincipalNames,
    private readonly settings: Settings,
    private readonly clock: Clock,
    private readonly ids: Ids,
  ) {}

  /**
   * Claims names for engine principals, for good: to be called before a grant or a policy names one.
   * @returns names that cannot be had, because an account holds them or because they are held in another spelling.
   */
  claimEngineNames(names: readonly string[]): Promise<HeldName[]> {
    return this.names.claimForEngine(names, this.clock.now());
  }

  /** The same names, without claiming the others. */
  namesClosedToEngine(names: readonly string[]): Promise<HeldName[]> {
    return this.names.closedToEngine(names);
  }

  register(registration: Omit<NewRegistration, 'createdAt'>): Promise<Registration> {
    return this.store.register({ ...registration, createdAt: this.clock.now() });
  }

  /**
   * Makes accounts for others, whose names differ in more than case, in the running transaction. All names first, then the
   * addresses: in this order a registration takes both, and nobody waits in a circle.
   * @param report called with the number of accounts that are made
   * @returns the outcome of each, in their order
   */
  async create(accounts: readonly NewAccount[], report: (made: number) => void = () => undefined): Promise<Creation[]> {
    const now = this.clock.now();
    const taken = this.ofServiceAccounts(accounts);
    const asked = accounts.filter(({ username }) => !taken.has(username));
    for (const [name, holder] of await this.names.claimForAccounts(
      asked.map(({ username }) => username),
      now,
    ))
      taken.set(name, holder);
    const present = new Map(
      (await this.store.named([...taken.keys()])).map((account) => [account.username, account] as const),
    );
    const claimed = asked.filter(({ username }) => !taken.has(username));
    const made = new Map<string, Account>();
    for (let start = 0; start < claimed.length; start += CHUNK) {
      const chunk = await this.store.add(claimed.slice(start, start + CHUNK), now);
      for (const account of chunk) made.set(account.username, account);
      report(made.size);
    }
    return accounts.map(({ username, email }): Creation => {
      const account = made.get(username);
      if (account !== undefined) return { kind: 'created', account, isEmailTaken: account.email !== email };
      const there = present.get(username);
      if (there !== undefined) return { kind: 'exists', account: there };
      return { kind: 'name-taken', holder: taken.get(username) ?? { name: username, holder: 'account' } };
    });
  }

  /** Names that the settings give to service accounts, also before a start has claimed them. */
  private ofServiceAccounts(accounts: readonly Pick<NewAccount, 'username'>[]): Map<string, NameHolder> {
    const held = new Map(this.settings.acl.serviceAccounts.map((name) => [foldedName(name), name]));
    return new Map(
      accounts.flatMap(({ username }): [string, NameHolder][] => {
        const name = held.get(foldedName(username));
        return name === undefined ? [] : [[username, { name, holder: 'service-account' }]];
      }),
    );
  }

  /** Why a registration would fail now, checked before a hash is computed for it. */
  taken(username: string, email: string): Promise<Taken | null> {
    return this.store.taken(username, email);
  }

  findForLogin(username: string): Promise<AccountToProve | null> {
    return this.store.findByUsername(username);
  }

  findWithHash(id: number): Promise<AccountToProve | null> {
    return this.store.findById(id);
  }

  async find(id: number): Promise<Account | null> {
    return (await this.store.findById(id))?.account ?? null;
  }

  page(filter: UserFilter, after: number | null, limit: number): Promise<Account[]> {
    return this.store.page(filter, after, limit);
  }

  useOf(ids: readonly number[]): Promise<Map<number, AccountUse>> {
    return this.store.useOf(ids);
  }

  count(filter: UserFilter): Promise<number> {
    return this.store.count(filter);
  }

  /** The account of a name, in any case of ASCII, becomes one of the source `to`; null: there is none of these sources without a password and the role. */
  takeOver(username: string, from: readonly Source[], to: Source): Promise<Account | null> {
    return this.store.takeOver(username, from, to);
  }

  /** Frees the names of an account that is gone for good: whoever has them later is somebody else. @returns the name that it has now */
  async releaseName({ id, username }: Pick<Account, 'id' | 'username'>): Promise<string> {
    // Somebody may have that name, so that the account would keep its own and, with it, everything: nobody can have the second.
    for (const suffix of [` (deleted ${id})`, ` (deleted ${id}, ${this.ids.secret()})`]) {
      const beginning = Array.from(username).slice(0, MAX_NAME - suffix.length);
      const next = beginning.join('') + suffix;
      if (await this.names.release({ id, username }, next)) return next;
    }
    throw new Error(`the name of account ${id} cannot be released`);
  }

  /** False: the account was not renamed away from that name. */
  freeName(id: number, name: string): Promise<boolean> {
    return this.names.free(id, name);
  }

  async change(id: number, change: AccountEdit): Promise<AccountChange> {
    const { username } = change;
    const holder = username === undefined ? undefined : this.ofServiceAccounts([{ username }]).get(username);
    if (holder !== undefined) return { kind: 'name-taken', holder };
    return this.store.change(id, change, this.clock.now());
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
