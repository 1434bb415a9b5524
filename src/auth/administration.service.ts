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
  type AccountChange,
  type AccountEdit,
  holderText,
  type NameHolder,
  type Role,
} from '../users/domain/account.js';
import { UserStore } from '../users/user.store.js';
import { PasswordsService } from './passwords.service.js';
import { SessionsService } from './sessions.service.js';

/** An administrator's request for a new account. */
export interface NewUser {
  username: string;
  email: string | null;
  role: Role;
  withOneTimePassword: boolean;
}

export interface MadeAccount {
  account: Account;
  isEmailTaken: boolean;
  /** Shown once, and not stored. */
  oneTimePassword: string | null;
}

/** Administration of accounts: with the audit trail the only exception from per-user isolation. */
@Injectable()
export class AdministrationService {
  constructor(
    private readonly accounts: UserStore,
    private readonly sessions: SessionsService,
    private readonly passwords: PasswordsService,
    private readonly administrators: AdministratorsService,
    private readonly changes: AccessChangesService,
    private readonly audit: AuditService,
    private readonly transaction: Transaction,
  ) {}

  /** Creates an account without a password or with a one-time one, also while registration is closed. @throws Refused `username_taken`, `busy`, `guarantee_broken` */
  async create(
    { username, email, role, withOneTimePassword }: NewUser,
    by: AuditContext,
    client: Client,
  ): Promise<MadeAccount> {
    const oneTime = withOneTimePassword ? await this.passwords.makeOneTimePassword(client) : null;
    return this.transaction.run(async () => {
      const asked = { username, email, role, source: 'local', password: oneTime?.stored ?? null } as const;
      const [outcome] = await this.accounts.create([asked]);
      if (outcome === undefined) throw new Error('an account without an outcome');
      if (outcome.kind !== 'created') throw nameTaken(username, outcome);
      const { account, isEmailTaken } = outcome;
      const details = { source: account.source, role, one_time_password: withOneTimePassword };
      await this.audit.record({ event: 'account_created', ...by, subject: userSubject(account), details });
      // It is one of everyone.
      await this.changes.judge();
      return { account, isEmailTaken, oneTimePassword: oneTime?.password ?? null };
    });
  }

  /**
   * Changes an account. A deactivation ends its sessions and API tokens, which an activation does not restore.
   * @param more further details of the audit events
   * @throws Refused `managed_elsewhere` if the change would take a role that the identity provider's group gives; `guarantee_broken`
   */
  async change(
    id: number,
    change: AccountEdit,
    by: AuditContext,
    more: Record<string, string> = {},
  ): Promise<AccountChange> {
    const done = await this.transaction.run(async () => {
      if (change.role === 'user' && (await this.administrators.isMember(id))) {
        const detail = 'An administrator by a group of the identity provider: take the person out of it there.';
        throw new Refused('managed_elsewhere', { detail });
      }
      const outcome = await this.accounts.change(id, change);
      if (outcome.kind !== 'changed') return outcome;
      const { before, account } = outcome;
      if (before.isActive && !account.isActive) await this.sessions.endAllOf(id, null);
      for (const [event, details] of eventsOf(outcome)) {
        await this.audit.record({ event, ...by, subject: userSubject(account), details: { ...details, ...more } });
      }
      const mayGive = (account.isActive && !before.isActive) || before.username !== account.username;
      // Guarantees do not refuse a push by SCIM: the next publication is judged instead.
      if (mayGive && change.by !== 'scim') await this.changes.judge();
      return outcome;
    });
    // The rules must be published without the deactivated account or the former name.
    if (done.kind === 'changed') this.changes.announce();
    return done;
  }
}

/** Whether a change requires a recent proof: it concerns an administrator, or a new name may give another person the account. */
export function changeAsksForProof({ role, username }: AccountEdit, before: Pick<Account, 'role'>): boolean {
  return role === 'admin' || before.role === 'admin' || username !== undefined;
}

/** Whether creating an account requires a recent proof: it is an administrator's, or gets a password. */
export function newAccountAsksForProof({
  role,
  withOneTimePassword,
}: Pick<NewUser, 'role' | 'withOneTimePassword'>): boolean {
  return role === 'admin' || withOneTimePassword;
}

export function nameTaken(asked: string, taken: { holder: NameHolder } | { account: Account }): Refused {
  const holder: NameHolder = 'holder' in taken ? taken.holder : { name: asked, holder: 'account' };
  return new Refused('username_taken', { detail: `${asked} ${holderText(holder, asked)}.` });
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
  // The account was inactive before, but from now on only an administrator can activate it.
  if (takenFrom !== null) events.push(['account_deactivated', { taken_from: takenFrom }]);
  return events;
}
