import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import { type AuditEventName, userSubject } from '../audit/domain/audit-event.js';
import { Clock } from '../kernel/clock.js';
import { orNotFound, Refused } from '../kernel/errors.js';
import { Ids } from '../kernel/ids.js';
import { type Client, type AuthenticatedUser, sessionIdOf } from '../platform/http/access.js';
import { Transaction } from '../platform/database/transaction.js';
import type { Account, NewHash } from '../users/domain/account.js';
import { UserStore } from '../users/user.store.js';
import { type Act, CredentialsService } from './credentials.service.js';
import { invalidToken } from './domain/claims.js';
import { PasswordHasher } from './password-hasher.js';
import { SessionsService } from './sessions.service.js';

/** How long a one-time password can be used to sign in (ASVS 6.4.1: initial passwords are short-lived). */
const ONE_TIME_MS = 24 * 3_600_000;

/** Changes that require the current password, and the one-time password that replaces a forgotten one. */
@Injectable()
export class PasswordsService {
  constructor(
    private readonly credentials: CredentialsService,
    private readonly users: UserStore,
    private readonly hasher: PasswordHasher,
    private readonly sessions: SessionsService,
    private readonly audit: AuditService,
    private readonly transaction: Transaction,
    private readonly clock: Clock,
    private readonly ids: Ids,
  ) {}

  /**
   * Changes the password and ends all other sessions and all API tokens, because a thief may have made them.
   * @returns the number of ended API tokens. @throws Refused as `runProved`, and `validation_failed` for the same password
   */
  changePassword(
    user: AuthenticatedUser,
    passwords: { current: string; next: string },
    client: Client,
  ): Promise<number> {
    return this.runProved(user, passwords.current, client, async ({ passwordHash }, hashing) => {
      if (passwords.next.normalize('NFC') === passwords.current.normalize('NFC')) {
        const errors = [{ field: 'new_password', message: 'must not be the current one' }];
        return new Refused('validation_failed', { errors });
      }
      const hash = await hashing.hash(passwords.next);
      return this.transaction.run(async () => {
        const replaced = await this.users.replaceHash(user.id, passwordHash, { hash, oneTimeUntil: null });
        if (!replaced) return null;
        const { ended, revokedTokens } = await this.sessions.endAllOf(user.id, sessionIdOf(user));
        await this.record('password_changed', user, user, client, { ended, revoked_tokens: revokedTokens });
        return revokedTokens;
      });
    });
  }

  /** @returns the account with the new address. @throws Refused as `runProved`, and `email_taken` */
  changeEmail(
    user: AuthenticatedUser,
    { email, currentPassword }: { email: string; currentPassword: string },
    client: Client,
  ): Promise<Account> {
    return this.runProved(user, currentPassword, client, ({ account, passwordHash }) =>
      this.transaction.run(async () => {
        const change = await this.users.changeEmail(user.id, email, passwordHash);
        if (change === 'outdated') return null;
        if (change === 'email_taken') return new Refused('email_taken');
        await this.record('email_changed', user, user, client, {});
        return { ...account, email };
      }),
    );
  }

  /**
   * Checks the password again, and records the proof in a session that requires recent ones.
   * @throws Refused as `runProved`
   */
  async confirm(user: AuthenticatedUser, password: string, client: Client): Promise<void> {
    await this.runProved(user, password, client, () =>
      this.sessions.prove(sessionIdOf(user), user, { at: this.clock.now(), by: 'password' }, client),
    );
  }

  /**
   * Replaces a user's password by a one-time one, with which the user can only set a new one. Ends the user's sessions and API tokens.
   * @returns the password, which is stored nowhere. @throws Refused `not_found`, `busy`
   */
  async setOneTimePassword(
    userId: number,
    administrator: AuthenticatedUser,
    client: Client,
  ): Promise<{ password: string; until: Date; revokedTokens: number }> {
    const account = orNotFound(await this.users.find(userId));
    const { password, stored } = await this.makeOneTimePassword(client);
    return this.transaction.run(async () => {
      await this.users.setHash(userId, stored);
      const { ended, revokedTokens } = await this.sessions.endAllOf(userId, null);
      const details = { ended, revoked_tokens: revokedTokens };
      await this.record('one_time_password_set', administrator, account, client, details);
      return { password, until: stored.oneTimeUntil, revokedTokens };
    });
  }

  /** Makes a one-time password. @returns the password, and the hash to store. @throws Refused `busy` */
  async makeOneTimePassword(client: Client): Promise<{ password: string; stored: NewHash & { oneTimeUntil: Date } }> {
    const password = this.ids.secret();
    const hash = await this.hasher.admit(client.address, client.gone, (hashing) => hashing.hash(password));
    return { password, stored: { hash, oneTimeUntil: new Date(this.clock.now().getTime() + ONE_TIME_MS) } };
  }

  /**
   * Calls `act` if the password is right. Throttled like a sign-in, so that a stolen session does not help to guess the password. A
   * refusal that `act` returns is thrown here, after the attempt was counted as a success.
   * @throws Refused `invalid_credentials`, `token_invalid`, `too_many_requests`, `busy`
   */
  private async runProved<T>(
    { id, username }: AuthenticatedUser,
    password: string,
    client: Client,
    act: Act<T | Refused>,
  ): Promise<T> {
    const presented = { username, password, find: () => this.users.findWithHash(id) };
    const proof = await this.credentials.prove(presented, client, act);
    switch (proof.kind) {
      case 'proved':
        if (proof.outcome instanceof Refused) throw proof.outcome;
        return proof.outcome;
      case 'wrong-password':
        throw new Refused('invalid_credentials', { detail: 'The current password is another one.' });
      case 'deactivated':
        throw invalidToken('session-ended');
      case 'throttled':
        throw new Refused('too_many_requests', proof);
    }
  }

  private async record(
    event: AuditEventName,
    actor: AuthenticatedUser,
    subject: { id: number; username: string },
    client: Client,
    details: Record<string, number>,
  ): Promise<void> {
    await this.audit.record({ event, actor, subject: userSubject(subject), origin: client, details });
  }
}
