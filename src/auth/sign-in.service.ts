import { Injectable } from '@nestjs/common';
import { type Counter, Registry } from 'prom-client';
import { Clock } from '../kernel/clock.js';
import { Refused } from '../kernel/errors.js';
import type { Client } from '../platform/http/access.js';
import { counter } from '../platform/operations/metrics.js';
import { Settings } from '../platform/settings/settings.js';
import type { Account, AccountToAuthenticate, AuthenticatedAccount } from '../users/domain/account.js';
import { UserStore } from '../users/user.store.js';
import { CredentialsService } from './credentials.service.js';
import { type Hashing, PasswordHasher } from './password-hasher.js';
import { SessionsService } from './sessions.service.js';
import type { TokenPair } from './tokens.service.js';

type SignInRefusal = 'invalid_credentials' | 'account_deactivated' | 'password_sign_in_disabled';

/** Signs users in by name and password. @throws Refused with a code of `SignInRefusal`, `too_many_requests` or `busy` */
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
    return this.openIfProved({ username, password }, client, async (account, checkedHash) => {
      const openedSession = await this.sessions.open(account, { checkedHash, provedAt: null, method: null }, client);
      return openedSession?.tokens ?? null;
    });
  }

  /** Opens a session of the web console. @returns its cookie */
  signInBrowser(username: string, password: string, client: Client): Promise<string> {
    return this.openIfProved({ username, password }, client, async (account, checkedHash) => {
      const proof = { checkedHash, provedAt: null, method: 'console' } as const;
      const openedSession = await this.sessions.openForBrowser(account, proof, client);
      return openedSession?.cookie ?? null;
    });
  }

  private async openIfProved<T>(
    { username, password }: { username: string; password: string },
    client: Client,
    openSession: (account: Account, checkedHash: string) => Promise<T | null>,
  ): Promise<T> {
    const credentials = { username, password, findAccount: () => this.findAccount(username) };
    const proofOutcome = await this.credentials.prove(credentials, client, async (authenticatedAccount, hashing) =>
      openSession(authenticatedAccount.account, await this.renewHash(authenticatedAccount, password, hashing)),
    );
    switch (proofOutcome.kind) {
      case 'proved':
        if (!this.isOpenToAllUsers) this.breakGlassSignIns.inc();
        return proofOutcome.result;
      case 'throttled':
        await this.sessions.recordThrottled(proofOutcome, client);
        throw new Refused('too_many_requests', proofOutcome);
      case 'wrong-password': {
        // The answer does not depend on the account, so it reveals neither a right password nor an administrator.
        const code = this.isOpenToAllUsers ? 'invalid_credentials' : 'password_sign_in_disabled';
        throw await this.recordRefusal(code, proofOutcome.account, client);
      }
      case 'deactivated':
        throw await this.recordRefusal('account_deactivated', proofOutcome.account, client);
    }
  }

  /** Whether every user can sign in by password; if not, only administrators can, for emergencies (break glass). */
  private get isOpenToAllUsers(): boolean {
    return this.settings.auth.passwordSignInEnabled;
  }

  /** The account of a name, without the hash if its password cannot be used now: the check then fails after the same amount of work. */
  private async findAccount(username: string): Promise<AccountToAuthenticate | null> {
    const accountToCheck = await this.users.findForLogin(username);
    if (accountToCheck === null) return null;
    const { account } = accountToCheck;
    const hasExpired = account.passwordExpiresAt !== null && account.passwordExpiresAt <= this.clock.now();
    const mayUsePassword = !hasExpired && (this.isOpenToAllUsers || account.role === 'admin');
    return mayUsePassword ? accountToCheck : { account, passwordHash: null };
  }

  private async recordRefusal(code: SignInRefusal, account: Account | null, client: Client): Promise<Refused> {
    // Administrators can sign in by password even if others cannot, so their failures are recorded as wrong passwords.
    const isAdministratorGuess = code === 'password_sign_in_disabled' && account?.role === 'admin';
    await this.sessions.recordFailure(account, { reason: isAdministratorGuess ? 'invalid_credentials' : code }, client);
    return new Refused(code);
  }

  /** Replaces a hash that lacks the current cost, or was made of the password before normalisation. @returns the new hash, or `passwordHash` if it was kept */
  private async renewHash(
    { account, passwordHash }: AuthenticatedAccount,
    password: string,
    hashing: Hashing,
  ): Promise<string> {
    const normalisedPassword = password.normalize('NFC');
    const isNormalisedHash =
      password === normalisedPassword || (await hashing.matches(normalisedPassword, passwordHash));
    if (isNormalisedHash && this.hasher.hasCurrentCost(passwordHash)) return passwordHash;
    const hash = await hashing.hash(password);
    const { passwordExpiresAt } = account;
    return (await this.users.replaceHash(account.id, passwordHash, { hash, passwordExpiresAt })) ? hash : passwordHash;
  }
}
