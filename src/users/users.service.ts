import { Injectable } from '@nestjs/common';
import { Ids } from '../kernel/ids.js';
import { foldedName } from '../kernel/name.js';
import { Settings } from '../platform/settings/settings.js';
import type { Account, AccountChange, AccountEdit, Creation, NameHolder, NewAccount } from './domain/account.js';
import { PrincipalNames } from './principal-names.store.js';
import { UserStore } from './user.store.js';

/** Rows of one statement, which must end far below the statement timeout. */
const CHUNK = 1_000;

/** Characters of a name. */
const MAX_NAME = 128;

/** Makes and changes accounts together with the names that they hold. */
@Injectable()
export class UsersService {
  constructor(
    private readonly store: UserStore,
    private readonly names: PrincipalNames,
    private readonly settings: Settings,
    private readonly ids: Ids,
  ) {}

  /**
   * Makes accounts whose names differ in more than case, in the running transaction. All names are claimed before the addresses, as a
   * registration does, so that concurrent calls do not deadlock.
   * @param report called with the number of accounts that are made
   * @returns the outcome of each, in their order
   */
  async create(accounts: readonly NewAccount[], report: (made: number) => void = () => undefined): Promise<Creation[]> {
    const taken = this.ofServiceAccounts(accounts);
    const asked = accounts.filter(({ username }) => !taken.has(username));
    const held = await this.names.claimForAccounts(asked.map(({ username }) => username));
    for (const [name, holder] of held) taken.set(name, holder);
    const existing = new Map((await this.store.named([...taken.keys()])).map((account) => [account.username, account]));
    const claimed = asked.filter(({ username }) => !taken.has(username));
    const made = new Map<string, Account>();
    for (let start = 0; start < claimed.length; start += CHUNK) {
      const chunk = await this.store.add(claimed.slice(start, start + CHUNK));
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

  async change(id: number, change: AccountEdit): Promise<AccountChange> {
    const { username } = change;
    const holder = username === undefined ? undefined : this.ofServiceAccounts([{ username }]).get(username);
    return holder === undefined ? this.store.change(id, change) : { kind: 'name-taken', holder };
  }

  /** Frees the names of an account that is gone for good: a later account of that name is another one. @returns its name from now on */
  async releaseName({ id, username }: Pick<Account, 'id' | 'username'>): Promise<string> {
    // The first of the two names may be held; the second cannot be guessed.
    for (const suffix of [` (deleted ${id})`, ` (deleted ${id}, ${this.ids.secret()})`]) {
      const next =
        Array.from(username)
          .slice(0, MAX_NAME - suffix.length)
          .join('') + suffix;
      if (await this.names.release({ id, username }, next)) return next;
    }
    throw new Error(`the name of account ${id} cannot be released`);
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
}
