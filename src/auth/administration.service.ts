import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import { type AuditContext, type AuditEventName, userSubject } from '../audit/domain/audit-event.js';
import { Refused } from '../kernel/errors.js';
import { Transaction } from '../platform/database/transaction.js';
import { AccessChangesService } from '../users/access-changes.service.js';
import { AdministratorsService } from '../users/administrators.service.js';
import type { Client } from '../platform/http/access.js';
import {
  type Account,
  type AccountChangeOutcome,
  type AccountEdit,
  holderText,
  type NameHolder,
  type Role,
} from '../users/domain/account.js';
import { UserStore } from '../users/user.store.js';
import { PasswordsService } from './passwords.service.js';
import { SessionsService } from './sessions.service.js';

export interface NewUser {
  username: string;
  email: string | null;
  role: Role;
  withOneTimePassword: boolean;
}

export interface CreatedAccount {
  account: Account;
  isEmailTaken: boolean;
  /** A password to show once, because only its hash is stored; null: the account was created without a password. */
  oneTimePassword: string | null;
}

/** Administration of accounts. Only this service and the audit trail show data of other users. */
@Injectable()
export class AdministrationService {
  constructor(
    private readonly accounts: UserStore,
    private readonly sessions: SessionsService,
    private readonly passwords: PasswordsService,
    private readonly administrators: AdministratorsService,
    private readonly accessChanges: AccessChangesService,
    private readonly audit: AuditService,
    private readonly transaction: Transaction,
  ) {}

  /** Creates an account without a password or with a one-time password, even while registration is disabled. @throws Refused `username_taken`, `password_sign_in_disabled`, `busy`, `guarantee_broken` */
  async create(
    { username, email, role, withOneTimePassword }: NewUser,
    context: AuditContext,
    client: Client,
  ): Promise<CreatedAccount> {
    const oneTimePassword = withOneTimePassword ? await this.passwords.makeOneTimePassword(role, client) : null;
    return this.transaction.run(async () => {
      const storedPassword = oneTimePassword?.storedPassword ?? null;
      const [outcome] = await this.accounts.create([{ username, email, role, source: 'local', storedPassword }]);
      if (outcome === undefined) throw new Error('the store returned no outcome for the account');
      if (outcome.kind !== 'created') throw nameTakenRefusal(username, outcome);
      const { account, isEmailTaken } = outcome;
      const details = { source: account.source, role, one_time_password: withOneTimePassword };
      await this.audit.record({ event: 'account_created', ...context, subject: userSubject(account), details });
      // The new account gets the access that everyone has, which can break a guarantee.
      await this.accessChanges.check();
      return { account, isEmailTaken, oneTimePassword: oneTimePassword?.password ?? null };
    });
  }

  /**
   * Changes an account. A deactivation ends the account's sessions and API tokens; a later activation does not restore them.
   * @param extraDetails details to add to the audit events
   * @throws Refused `managed_elsewhere` if the role comes from the identity provider's group; `guarantee_broken`
   */
  async change(
    id: number,
    change: AccountEdit,
    context: AuditContext,
    extraDetails: Record<string, string> = {},
  ): Promise<AccountChangeOutcome> {
    const changeOutcome = await this.transaction.run(async () => {
      if (change.role === 'user' && (await this.administrators.isMember(id))) {
        const detail = 'An administrator by a group of the identity provider: take the person out of it there.';
        throw new Refused('managed_elsewhere', { detail });
      }
      const outcome = await this.accounts.change(id, change);
      if (outcome.kind !== 'changed') return outcome;
      const { oldAccount, account } = outcome;
      if (oldAccount.isActive && !account.isActive) await this.sessions.endAllOf(id, null, context);
      for (const [event, details] of eventsOf(outcome)) {
        const subject = userSubject(account);
        await this.audit.record({ event, ...context, subject, details: { ...details, ...extraDetails } });
      }
      const mayGiveAccess = (account.isActive && !oldAccount.isActive) || oldAccount.username !== account.username;
      // A push by SCIM is never refused because of a guarantee; the next publication checks guarantees instead.
      if (mayGiveAccess && change.changedBy !== 'scim') await this.accessChanges.check();
      return outcome;
    });
    // Announces the change, so that rules without the deactivated account or the former name are published soon.
    if (changeOutcome.kind === 'changed') this.accessChanges.announce();
    return changeOutcome;
  }
}

/** Whether a change requires a recent authentication: for administrators, and for renames, which may hand the account to another person. */
export function changeRequiresProof({ role, username }: AccountEdit, account: Pick<Account, 'role'>): boolean {
  return role === 'admin' || account.role === 'admin' || username !== undefined;
}

/** Whether creating an account requires a recent authentication: if it gets a password or the administrator's role. */
export function creationRequiresProof(newUser: Pick<NewUser, 'role' | 'withOneTimePassword'>): boolean {
  return newUser.role === 'admin' || newUser.withOneTimePassword;
}

export function nameTakenRefusal(name: string, outcome: { holder: NameHolder } | { account: Account }): Refused {
  const holder: NameHolder = 'holder' in outcome ? outcome.holder : { name, holder: 'account' };
  return new Refused('username_taken', { detail: `${name} ${holderText(holder, name)}.` });
}

function eventsOf({
  oldAccount,
  account,
  formerDeactivator,
}: AccountChangeOutcome & { kind: 'changed' }): [AuditEventName, Record<string, string>][] {
  const events: [AuditEventName, Record<string, string>][] = [];
  if (oldAccount.username !== account.username) {
    events.push(['account_renamed', { from: oldAccount.username, to: account.username }]);
  }
  if (oldAccount.role !== account.role) events.push(['role_changed', { from: oldAccount.role, to: account.role }]);
  if (oldAccount.isActive !== account.isActive) {
    events.push([account.isActive ? 'account_activated' : 'account_deactivated', {}]);
  }
  // An administrator took over a deactivation by another source: from now on only an administrator can activate the account.
  if (formerDeactivator !== null) events.push(['account_deactivated', { taken_from: formerDeactivator }]);
  return events;
}
