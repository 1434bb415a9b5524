import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import { type AuditEventName, userSubject } from '../audit/domain/audit-event.js';
import { Clock } from '../kernel/clock.js';
import type { Client } from '../platform/access.js';
import { Settings } from '../platform/settings.js';
import type { Account, AccountToProve, AccountWithHash } from '../users/domain/account.js';
import { UsersService } from '../users/users.service.js';
import { CredentialsService } from './credentials.service.js';
import { type Hashing, PasswordHasher } from './domain/password.js';
import type { ThrottledAttempt } from './domain/throttle.js';
import { SessionsService } from './sessions.service.js';
import { SignInMetrics } from './sign-in.metrics.js';
import type { TokenPair } from './tokens.service.js';

/** `opened`: what the person gets, such as tokens. */
export type SignIn<T> = { kind: 'signed-in'; opened: T } | Refusal | ThrottledAttempt;

interface Refusal {
  kind: 'refused';
  code: 'invalid_credentials' | 'account_deactivated' | 'password_sign_in_disabled';
}

/** From a name and a password to a session. */
@Injectable()
export class SignInService {
  constructor(
    private readonly credentials: CredentialsService,
    private readonly users: UsersService,
    private readonly hasher: PasswordHasher,
    private readonly sessions: SessionsService,
    private readonly audit: AuditService,
    private readonly clock: Clock,
    private readonly settings: Settings,
    private readonly metrics: SignInMetrics,
  ) {}

  /** A session with tokens. */
  signIn(username: string, password: string, client: Client, signal: AbortSignal): Promise<SignIn<TokenPair>> {
    return this.prove({ username, password }, client, signal, (account, checkedHash) =>
      this.sessions.open(account, checkedHash, client),
    );
  }

  /** A session of the web console: its cookie. */
  signInBrowser(username: string, password: string, client: Client, signal: AbortSignal): Promise<SignIn<string>> {
    return this.prove({ username, password }, client, signal, async (account, checkedHash) => {
      const opened = await this.sessions.openForBrowser(account, { checkedHash }, client);
      return opened?.cookie ?? null;
    });
  }

  private async prove<T>(
    { username, password }: { username: string; password: string },
    client: Client,
    signal: AbortSignal,
    open: (account: Account, checkedHash: string) => Promise<T | null>,
  ): Promise<SignIn<T>> {
    const presented = { username, password, find: () => this.find(username) };
    const proof = await this.credentials.prove(presented, client, signal, async (found, hashing) =>
      open(found.account, await this.renewHash(found, password, hashing)),
    );
    switch (proof.kind) {
      case 'proved':
        if (!this.isOpen) this.metrics.brokeGlass();
        return { kind: 'signed-in', opened: proof.outcome };
      case 'throttled':
        if (proof.first) await this.record('login_throttled', null, client, { limit: proof.quota.name });
        return proof;
      case 'wrong-password':
        // One answer to all others: it says neither that the password was right nor that the account is an administrator's.
        return this.refuse(this.isOpen ? 'invalid_credentials' : 'password_sign_in_disabled', proof.account, client);
      case 'deactivated':
        return this.refuse('account_deactivated', proof.account, client);
    }
  }

  /** Whether everybody with a password signs in by it; else administrators alone, as a break glass. */
  private get isOpen(): boolean {
    return this.settings.auth.passwordSignInEnabled;
  }

  /** A password that opens nothing counts as none, which costs the same work. */
  private async find(username: string): Promise<AccountToProve | null> {
    const found = await this.users.findForLogin(username);
    return found === null || this.opens(found.account) ? found : { account: found.account, passwordHash: null };
  }

  private opens({ role, oneTimeUntil }: Account): boolean {
    const isSpent = oneTimeUntil !== null && oneTimeUntil <= this.clock.now();
    return !isSpent && (this.isOpen || role === 'admin');
  }

  private async refuse(code: Refusal['code'], account: Account | null, client: Client): Promise<Refusal> {
    // The trail tells guesses at an administrator's password apart.
    const isGuess = code === 'password_sign_in_disabled' && account?.role === 'admin';
    await this.record('login_failed', account, client, { reason: isGuess ? 'invalid_credentials' : code });
    return { kind: 'refused', code };
  }

  /** Replaces a hash of another cost, or of the text before it was normalised, while the password is known. @returns the stored hash. */
  private async renewHash(
    { account, passwordHash }: AccountWithHash,
    password: string,
    hashing: Hashing,
  ): Promise<string> {
    const normalised = password.normalize('NFC');
    const isOfNormalised = password === normalised || (await hashing.matches(normalised, passwordHash));
    if (isOfNormalised && this.hasher.isCurrent(passwordHash)) return passwordHash;
    const hash = await hashing.hash(password);
    const renewed = await this.users.replaceHash(account.id, passwordHash, {
      hash,
      oneTimeUntil: account.oneTimeUntil,
    });
    return renewed ? hash : passwordHash;
  }

  /** Without the typed name, which may be a password. An existing account is recorded by its own name. */
  private async record(
    event: AuditEventName,
    account: Account | null,
    client: Client,
    details: Record<string, string>,
  ): Promise<void> {
    const subject = account === null ? null : userSubject(account);
    await this.audit.record({ event, actor: null, subject, origin: client, details });
  }
}
