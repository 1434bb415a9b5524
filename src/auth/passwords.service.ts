import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import { userSubject } from '../audit/domain/audit-event.js';
import { Clock } from '../kernel/clock.js';
import { orNotFound, Refused } from '../kernel/errors.js';
import { IdSource } from '../kernel/ids.js';
import { type Client, type AuthenticatedUser, sessionIdOf } from '../platform/http/access.js';
import { Transaction } from '../platform/database/transaction.js';
import { Settings } from '../platform/settings/settings.js';
import type { Account, Role } from '../users/domain/account.js';
import { UserStore } from '../users/user.store.js';
import { type ProvedAction, CredentialsService } from './credentials.service.js';
import { invalidTokenRefusal } from './domain/claims.js';
import { PasswordHasher } from './password-hasher.js';
import { SessionsService } from './sessions.service.js';

/** The time in which a one-time password can be used to sign in (ASVS 6.4.1: initial passwords are short-lived). */
const PASSWORD_LIFETIME_MS = 24 * 3_600_000;

/** Changes of an account that require its current password, and one-time passwords that replace forgotten passwords. */
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
    private readonly idSource: IdSource,
    private readonly settings: Settings,
  ) {}

  /**
   * Changes the password. Ends all other sessions and all API tokens, because they may belong to a thief of the old password.
   * @returns the number of ended API tokens. @throws Refused like `runIfProved`, and `validation_failed` for the same password
   */
  changePassword(
    user: AuthenticatedUser,
    passwords: { currentPassword: string; newPassword: string },
    client: Client,
  ): Promise<number> {
    return this.runIfProved(user, passwords.currentPassword, client, async ({ passwordHash }, hashing) => {
      if (passwords.newPassword.normalize('NFC') === passwords.currentPassword.normalize('NFC')) {
        const errors = [{ field: 'new_password', message: 'must not be the current one' }];
        return new Refused('validation_failed', { errors });
      }
      const hash = await hashing.hash(passwords.newPassword);
      return this.transaction.run(async () => {
        const isReplaced = await this.users.replaceHash(user.id, passwordHash, { hash, passwordExpiresAt: null });
        if (!isReplaced) return null;
        const change = ownContext(user, client);
        const { endedCount, revokedTokens } = await this.sessions.endAllOf(user.id, sessionIdOf(user), change);
        const details = { ended: endedCount, revoked_tokens: revokedTokens };
        await this.audit.record({ event: 'password_changed', ...change, details });
        return revokedTokens;
      });
    });
  }

  /** @returns the account with the new address. @throws Refused like `runIfProved`, and `email_taken` */
  changeEmail(
    user: AuthenticatedUser,
    { email, currentPassword }: { email: string; currentPassword: string },
    client: Client,
  ): Promise<Account> {
    return this.runIfProved(user, currentPassword, client, ({ account, passwordHash }) =>
      this.transaction.run(async () => {
        const changeOutcome = await this.users.changeEmail(user.id, email, passwordHash);
        if (changeOutcome === 'outdated') return null;
        if (changeOutcome === 'email_taken') return new Refused('email_taken');
        await this.audit.record({ event: 'email_changed', ...ownContext(user, client), details: {} });
        return { ...account, email };
      }),
    );
  }

  /**
   * Checks the password again, and records the time as the session's last authentication, unless the session never needs a new one.
   * @throws Refused like `runIfProved`
   */
  async confirm(user: AuthenticatedUser, password: string, client: Client): Promise<void> {
    await this.runIfProved(user, password, client, () =>
      this.sessions.recordProof(sessionIdOf(user), user, { provedAt: this.clock.now(), method: 'password' }, client),
    );
  }

  /**
   * Replaces a user's password by a one-time password, which only lets the user set a new one. Ends the user's sessions and API tokens.
   * @returns the password, which is stored nowhere. @throws Refused `not_found`, and those of `makeOneTimePassword`
   */
  async setOneTimePassword(
    userId: number,
    administrator: AuthenticatedUser,
    client: Client,
  ): Promise<{ password: string; expiresAt: Date; revokedTokens: number }> {
    const account = orNotFound(await this.users.find(userId));
    const { password, storedPassword } = await this.makeOneTimePassword(account.role, client);
    return this.transaction.run(async () => {
      await this.users.setHash(userId, storedPassword);
      const change = { actor: administrator, subject: userSubject(account), origin: client };
      const { endedCount, revokedTokens } = await this.sessions.endAllOf(userId, null, change);
      const details = { ended: endedCount, revoked_tokens: revokedTokens };
      await this.audit.record({ event: 'one_time_password_set', ...change, details });
      return { password, expiresAt: storedPassword.passwordExpiresAt, revokedTokens };
    });
  }

  /** Makes a one-time password for a user who could sign in with it. @returns it, and the hash to store. @throws Refused `password_sign_in_disabled`, `busy` */
  async makeOneTimePassword(role: Role, client: Client) {
    // A password would also keep the user from signing in at the provider, where it links no account that has one.
    if (!this.settings.auth.passwordSignInEnabled && role !== 'admin') throw new Refused('password_sign_in_disabled');
    const password = this.idSource.secret();
    const hash = await this.hasher.admit(client.address, client.signal, (hashing) => hashing.hash(password));
    const passwordExpiresAt = new Date(this.clock.now().getTime() + PASSWORD_LIFETIME_MS);
    return { password, storedPassword: { hash, passwordExpiresAt } };
  }

  /**
   * Calls `action` if the password is right. Throttled and recorded like a sign-in, so that a stolen session does not help to guess the
   * password. A refusal that `action` returns is thrown here, after the attempt was counted as a success.
   * @throws Refused `invalid_credentials`, `token_invalid`, `too_many_requests`, `busy`
   */
  private async runIfProved<T>(
    { id, username }: AuthenticatedUser,
    password: string,
    client: Client,
    action: ProvedAction<T | Refused>,
  ): Promise<T> {
    const credentials = { username, password, findAccount: () => this.users.findWithHash(id) };
    const proofOutcome = await this.credentials.prove(credentials, client, action);
    switch (proofOutcome.kind) {
      case 'proved':
        if (proofOutcome.result instanceof Refused) throw proofOutcome.result;
        return proofOutcome.result;
      case 'wrong-password': {
        const reason = 'invalid_credentials';
        await this.sessions.recordFailure(proofOutcome.account, { by: 'confirm', reason }, client);
        throw new Refused(reason, { detail: 'The current password is another one.' });
      }
      case 'deactivated':
        throw invalidTokenRefusal('session-ended');
      case 'throttled':
        await this.sessions.recordThrottled(proofOutcome, client);
        throw new Refused('too_many_requests', proofOutcome);
    }
  }
}

const ownContext = (user: AuthenticatedUser, origin: Client) => ({ actor: user, subject: userSubject(user), origin });
