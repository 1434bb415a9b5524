import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import { type AuditEventName, userSubject } from '../audit/domain/audit-event.js';
import { Clock } from '../kernel/clock.js';
import { Refused } from '../kernel/errors.js';
import { Ids } from '../kernel/ids.js';
import { type Client, type AuthenticatedUser, sessionIdOf } from '../platform/http/access.js';
import { Transaction } from '../platform/database/transaction.js';
import type { Account, NewHash } from '../users/domain/account.js';
import { UserStore } from '../users/user.store.js';
import { type PresentedCredentials, CredentialsService, type Proof } from './credentials.service.js';
import { PasswordHasher } from './password-hasher.js';
import { SessionsService } from './sessions.service.js';

export type FailedProof = Exclude<Proof<never>, { kind: 'proved' }>;

export type PasswordChange = { kind: 'changed'; revokedTokens: number } | { kind: 'same-password' } | FailedProof;
export type EmailChange = { kind: 'changed'; account: Account } | { kind: 'email-taken' } | FailedProof;

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

  /** Ends all other sessions and all API tokens, also those of a thief. */
  async changePassword(
    user: AuthenticatedUser,
    passwords: { current: string; next: string },
    client: Client,
    signal: AbortSignal,
  ): Promise<PasswordChange> {
    const presented = this.credentialsOf(user, passwords.current);
    return outcomeOf(
      await this.credentials.prove<PasswordChange>(presented, client, signal, async ({ passwordHash }, hashing) => {
        if (passwords.next.normalize('NFC') === passwords.current.normalize('NFC')) return { kind: 'same-password' };
        const hash = await hashing.hash(passwords.next);
        return this.transaction.run(async () => {
          const replaced = await this.users.replaceHash(user.id, passwordHash, { hash, oneTimeUntil: null });
          if (!replaced) return null;
          const { ended, revokedTokens } = await this.sessions.endAllOf(user.id, sessionIdOf(user));
          await this.record('password_changed', user, user, client, { ended, revoked_tokens: revokedTokens });
          return { kind: 'changed', revokedTokens };
        });
      }),
    );
  }

  async changeEmail(
    user: AuthenticatedUser,
    { email, currentPassword }: { email: string; currentPassword: string },
    client: Client,
    signal: AbortSignal,
  ): Promise<EmailChange> {
    const presented = this.credentialsOf(user, currentPassword);
    return outcomeOf(
      await this.credentials.prove<EmailChange>(presented, client, signal, ({ account, passwordHash }) =>
        this.transaction.run(async () => {
          const change = await this.users.changeEmail(user.id, email, passwordHash);
          if (change === 'outdated') return null;
          if (change === 'email-taken') return { kind: 'email-taken' };
          await this.record('email_changed', user, user, client, {});
          return { kind: 'changed', account: { ...account, email } };
        }),
      ),
    );
  }

  /**
   * Checks the password again, and notes the proof for a session that asks for recent ones.
   * @throws Refused `invalid_credentials`, `too_many_requests`, `busy`
   */
  async confirm(user: AuthenticatedUser, password: string, client: Client, signal: AbortSignal): Promise<void> {
    const presented = this.credentialsOf(user, password);
    const proof = await this.credentials.prove(presented, client, signal, () =>
      this.sessions.prove(sessionIdOf(user), user, { at: this.clock.now(), by: 'password' }, client),
    );
    if (proof.kind === 'throttled') throw new Refused('too_many_requests', proof);
    if (proof.kind !== 'proved') throw new Refused('invalid_credentials', { detail: 'The password is another one.' });
  }

  /**
   * Replaces a user's password by one that allows only its own change, and ends the user's sessions and API tokens.
   * @returns the password, which is stored nowhere; null: there is no such account.
   */
  async setOneTimePassword(
    userId: number,
    administrator: AuthenticatedUser,
    client: Client,
    signal: AbortSignal,
  ): Promise<{ password: string; until: Date; revokedTokens: number } | null> {
    const account = await this.users.find(userId);
    if (account === null) return null;
    const { password, stored } = await this.nextOneTimePassword(client, signal);
    return this.transaction.run(async () => {
      await this.users.setHash(userId, stored);
      const { ended, revokedTokens } = await this.sessions.endAllOf(userId, null);
      const details = { ended, revoked_tokens: revokedTokens };
      await this.record('one_time_password_set', administrator, account, client, details);
      return { password, until: stored.oneTimeUntil, revokedTokens };
    });
  }

  /** Makes a one-time password. @returns it with what is to be stored of it. @throws Refused `busy` */
  async nextOneTimePassword(
    client: Client,
    signal: AbortSignal,
  ): Promise<{ password: string; stored: NewHash & { oneTimeUntil: Date } }> {
    const password = this.ids.secret();
    const hash = await this.hasher.admit(client.address, signal, (hashing) => hashing.hash(password));
    return { password, stored: { hash, oneTimeUntil: new Date(this.clock.now().getTime() + ONE_TIME_MS) } };
  }

  /** Credentials that are throttled like a sign-in, so that a stolen session does not help to guess the password. */
  private credentialsOf({ id, username }: AuthenticatedUser, password: string): PresentedCredentials {
    return { username, password, find: () => this.users.findWithHash(id) };
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

function outcomeOf<T>(proof: Proof<T>): T | FailedProof {
  return proof.kind === 'proved' ? proof.outcome : proof;
}
