import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import { type AuditContext, type AuditEventName, userSubject } from '../audit/domain/audit-event.js';
import { Clock } from '../kernel/clock.js';
import { Refused } from '../kernel/errors.js';
import { type Page, pageOf, type PageRequest } from '../kernel/page.js';
import { Transaction } from '../platform/transaction.js';
import { AccessChangesService } from '../users/access-changes.service.js';
import { AdministratorsService } from '../users/administrators.service.js';
import type { Client } from '../platform/access.js';
import type {
  Account,
  AccountChange,
  AccountEdit,
  AccountUse,
  Creation,
  Role,
  UserFilter,
} from '../users/domain/account.js';
import { UsersService } from '../users/users.service.js';
import { DeactivationsService } from './deactivations.service.js';
import { SessionStore } from './domain/session.js';
import { PasswordsService } from './passwords.service.js';

/** An account that an administrator makes. */
export interface NewUser {
  username: string;
  email: string | null;
  role: Role;
  withOneTimePassword: boolean;
}

export interface MadeAccount {
  account: Account;
  isEmailTaken: boolean;
  /** Stored nowhere. */
  oneTimePassword: string | null;
}

export type UsedAccount = Account & AccountUse;

const NO_USE: AccountUse = { groups: [], groupCount: 0, lastSignInAt: null, formerNames: [] };

/** Administration of accounts: with the audit trail the one exception from per-user isolation. */
@Injectable()
export class AdministrationService {
  constructor(
    private readonly users: UsersService,
    private readonly sessions: SessionStore,
    private readonly passwords: PasswordsService,
    private readonly administrators: AdministratorsService,
    private readonly deactivations: DeactivationsService,
    private readonly changes: AccessChangesService,
    private readonly audit: AuditService,
    private readonly transaction: Transaction,
    private readonly clock: Clock,
  ) {}

  async list(filter: UserFilter, { limit, after }: PageRequest): Promise<Page<UsedAccount>> {
    const page = pageOf(await this.users.page(filter, after, limit + 1), limit, (account) => account.id);
    return { ...page, items: await this.withUse(page.items) };
  }

  count(filter: UserFilter): Promise<number> {
    return this.users.count(filter);
  }

  async find(id: number): Promise<UsedAccount | null> {
    const account = await this.users.find(id);
    const [used = null] = await this.withUse(account === null ? [] : [account]);
    return used;
  }

  private async withUse(accounts: readonly Account[]): Promise<UsedAccount[]> {
    const uses = await this.users.useOf(accounts.map(({ id }) => id));
    return accounts.map((account) => ({ ...account, ...(uses.get(account.id) ?? NO_USE) }));
  }

  /** Makes an account without a password, or with a one-time password, also while registration is closed. */
  async create(
    { username, email, role, withOneTimePassword }: NewUser,
    by: AuditContext,
    client: Client,
    signal: AbortSignal,
  ): Promise<(MadeAccount & { kind: 'created' }) | Exclude<Creation, { kind: 'created' }>> {
    const oneTime = withOneTimePassword ? await this.passwords.nextOneTimePassword(client, signal) : null;
    return this.transaction.run(async () => {
      const asked = { username, email, role, source: 'local', password: oneTime?.stored ?? null } as const;
      const [outcome] = await this.users.create([asked]);
      if (outcome === undefined) throw new Error('an account without an outcome');
      if (outcome.kind !== 'created') return outcome;
      const { account, isEmailTaken } = outcome;
      const details = { source: account.source, role, one_time_password: withOneTimePassword };
      await this.audit.record({ event: 'account_created', ...by, subject: userSubject(account), details });
      return { kind: 'created', account, isEmailTaken, oneTimePassword: oneTime?.password ?? null };
    });
  }

  /**
   * A deactivated account's sessions and API tokens end for good: activating it again does not bring them back.
   * @param more for the audit events
   * @throws Refused `managed_elsewhere` for taking the role that the identity provider's group gives
   */
  async change(
    id: number,
    change: AccountEdit,
    by: AuditContext,
    more: Record<string, string> = {},
  ): Promise<AccountChange> {
    const done = await this.transaction.run(async () => {
      if (change.role === 'user' && (await this.administrators.isMember(id))) throw byGroup();
      const outcome = await this.users.change(id, change);
      if (outcome.kind !== 'changed') return outcome;
      const { before, account } = outcome;
      if (before.isActive && !account.isActive) {
        await this.sessions.endAllOf(id, this.clock.now(), null);
        await this.deactivations.end(id);
      }
      for (const [event, details] of eventsOf(outcome)) {
        await this.audit.record({ event, ...by, subject: userSubject(account), details: { ...details, ...more } });
      }
      return outcome;
    });
    // A deactivated account must leave the rules, and so must a former name.
    if (done.kind === 'changed') this.changes.announce();
    return done;
  }

  /** False: there is no such account. */
  async endSessions(id: number, by: AuditContext): Promise<boolean> {
    const account = await this.users.find(id);
    if (account === null) return false;
    await this.transaction.run(async () => {
      const details = { ended: await this.sessions.endAllOf(id, this.clock.now(), null) };
      const subject = userSubject(account);
      await this.audit.record({ event: 'sessions_ended', ...by, subject, details });
    });
    return true;
  }
}

function byGroup(): Refused {
  const detail = 'An administrator by a group of the identity provider: take the person out of it there.';
  return new Refused('managed_elsewhere', { detail });
}

function eventsOf({
  before,
  account,
  takenFrom,
}: AccountChange & { kind: 'changed' }): [AuditEventName, Record<string, string>][] {
  const events: [AuditEventName, Record<string, string>][] = [];
  if (before.username !== account.username) {
    events.push(['account_renamed', { from: before.username, to: account.username }]);
  }
  if (before.role !== account.role) events.push(['role_changed', { from: before.role, to: account.role }]);
  if (before.isActive !== account.isActive) {
    events.push([account.isActive ? 'account_activated' : 'account_deactivated', {}]);
  }
  // Inactive before and after, but from now on only an administrator activates it.
  if (takenFrom !== null) events.push(['account_deactivated', { taken_from: takenFrom }]);
  return events;
}
