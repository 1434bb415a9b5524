import { Injectable } from '@nestjs/common';
import { type Counter, Registry } from 'prom-client';
import { Clock } from '../kernel/clock.js';
import { Refused } from '../kernel/errors.js';
import type { Client } from '../platform/http/access.js';
import { counter } from '../platform/operations/metrics.js';
import { Settings } from '../platform/settings/settings.js';
import type { Account, AccountToProve, AccountWithHash } from '../users/domain/account.js';
import { UserStore } from '../users/user.store.js';
import { CredentialsService } from './credentials.service.js';
import { type Hashing, PasswordHasher } from './password-hasher.js';
import { SessionsService } from './sessions.service.js';
import type { TokenPair } from './tokens.service.js';

type Refusal = 'invalid_credentials' | 'account_deactivated' | 'password_sign_in_disabled';

/** Opens sessions for names and passwords. Its methods throw Refused with a code of `Refusal`, `too_many_requests` or `busy`. */
@Injectable()
export class SignInService {
  private readonly breakGlassSignIns: Counter;

  constructor(
    private readonly credentials: CredentialsService,
    private readonly users: UserStore,
    private readonly hasher: PasswordHasher,
    private readonly sessions: SessionsService,
    private readonly clock: Clock,
    private readonly settings: Settings,
    registry: Registry,
  ) {
    const help = 'Sign-ins of administrators with a password while `AUTH_PASSWORD_SIGN_IN_ENABLED` is `false`.';
    this.breakGlassSignIns = counter(registry, 'grantline_break_glass_sign_ins_total', help);
  }

  /** Opens a session with tokens. */
  signIn(username: string, password: string, client: Client): Promise<TokenPair> {
    return this.prove({ username, password }, client, async (account, checkedHash) => {
      const opened = await this.sessions.open(account, { checkedHash, provedAt: null, by: null }, client);
      return opened?.tokens ?? null;
    });
  }

  /** Opens a session of the web console. @returns its cookie */
  signInBrowser(username: string, password: string, client: Client): Promise<string> {
    return this.prove({ username, password }, client, async (account, checkedHash) => {
      const opened = await this.sessions.openForBrowser(
        account,
        { checkedHash, provedAt: null, by: 'console' },
        client,
      );
      return opened?.cookie ?? null;
    });
  }

  private async prove<T>(
    { username, password }: { username: string; password: string },
    client: Client,
    open: (account: Account, checkedHash: string) => Promise<T | null>,
  ): Promise<T> {
    const presented = { username, password, find: () => this.find(username) };
    const proof = await this.credentials.prove(presented, client, async (found, hashing) =>
      open(found.account, await this.renewHash(found, password, hashing)),
    );
    switch (proof.kind) {
      case 'proved':
        if (!this.isOpen) this.breakGlassSignIns.inc();
        return proof.outcome;
      case 'throttled':
        await this.sessions.recordThrottled(proof, client);
        throw new Refused('too_many_requests', proof);
      case 'wrong-password':
        // The answer does not depend on the account, so it reveals neither a right password nor an administrator.
        throw await this.refusal(
          this.isOpen ? 'invalid_credentials' : 'password_sign_in_disabled',
          proof.account,
          client,
        );
      case 'deactivated':
        throw await this.refusal('account_deactivated', proof.account, client);
    }
  }

  /** Whether every user can sign in by password; if not, only administrators can, for emergencies (break glass). */
  private get isOpen(): boolean {
    return this.settings.auth.passwordSignInEnabled;
  }

  /** Finds the account of a name. Without its hash if its password cannot be used; checking it then costs the same work. */
  private async find(username: string): Promise<AccountToProve | null> {
    const found = await this.users.findForLogin(username);
    return found === null || this.mayOpen(found.account) ? found : { account: found.account, passwordHash: null };
  }

  private mayOpen({ role, oneTimeUntil }: Account): boolean {
    const hasExpired = oneTimeUntil !== null && oneTimeUntil <= this.clock.now();
    return !hasExpired && (this.isOpen || role === 'admin');
  }

  /** Records a refused sign-in and makes its error. */
  private async refusal(code: Refusal, account: Account | null, client: Client): Promise<Refused> {
    // The audit trail marks wrong passwords for administrators, who can still sign in by password.
    const isGuess = code === 'password_sign_in_disabled' && account?.role === 'admin';
    await this.sessions.recordFailure(account, { reason: isGuess ? 'invalid_credentials' : code }, client);
    return new Refused(code);
  }

  /** Replaces a hash that has another cost or was made of unnormalised text, now that the password is known. @returns the stored hash */
  private async renewHash(
    { account, passwordHash }: AccountWithHash,
    password: string,
    hashing: Hashing,
  ): Promise<string> {
    const normalised = password.normalize('NFC');
    const isOfNormalised = password === normalised || (await hashing.matches(normalised, passwordHash));
    if (isOfNormalised && this.hasher.isCurrent(passwordHash)) return passwordHash;
    const hash = await hashing.hash(password);
    const { oneTimeUntil } = account;
    return (await this.users.replaceHash(account.id, passwordHash, { hash, oneTimeUntil })) ? hash : passwordHash;
  }
}
