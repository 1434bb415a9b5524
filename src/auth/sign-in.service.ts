import { Injectable } from '@nestjs/common';
import { type AuditEventName, userSubject } from '../audit/domain/audit-event.js';
import { AuditService } from '../audit/audit.service.js';
import { Clock } from '../kernel/clock.js';
import { Ids } from '../kernel/ids.js';
import type { Client } from '../platform/access.js';
import { Settings } from '../platform/settings.js';
import { Transaction } from '../platform/transaction.js';
import type { Account, AccountWithHash } from '../users/domain/account.js';
import { UsersService } from '../users/users.service.js';
import { type Hashing, PasswordHasher } from './domain/password-hasher.js';
import { SessionStore } from './domain/session-store.js';
import { type Attempt, Throttle } from './domain/throttle.js';
import { type TokenPair, TokensService } from './tokens.service.js';

export type SignIn =
  | { kind: 'signed-in'; tokens: TokenPair }
  | { kind: 'refused'; code: 'invalid_credentials' | 'account_deactivated' }
  | Exclude<Attempt, { kind: 'counted' }>;

const DAY_MS = 86_400_000;

/** From a name and a password to a session (source document 4.2). */
@Injectable()
export class SignInService {
  constructor(
    private readonly users: UsersService,
    private readonly hasher: PasswordHasher,
    private readonly throttle: Throttle,
    private readonly sessions: SessionStore,
    private readonly tokens: TokensService,
    private readonly audit: AuditService,
    private readonly transaction: Transaction,
    private readonly clock: Clock,
    private readonly ids: Ids,
    private readonly settings: Settings,
  ) {}

  /** Takes a place, counts, does the same work whether there is such an account or not, and says no in the same words. */
  async signIn(username: string, password: string, client: Client, signal: AbortSignal): Promise<SignIn> {
    return this.hasher.admit(signal, (hashing) => this.attempt(username, password, client, hashing));
  }

  private async attempt(username: string, password: string, client: Client, hashing: Hashing): Promise<SignIn> {
    const attempt = await this.throttle.login(username, client.address);
    if (attempt.kind === 'throttled') {
      if (attempt.first) await this.record('login_throttled', null, client, { limit: attempt.quota.name });
      return attempt;
    }
    const found = await this.users.findForLogin(username);
    const matches = await hashing.matches(password, found?.passwordHash ?? null);
    if (found === null || !matches || this.isSpent(found.account)) {
      await this.record('login_failed', found?.account ?? null, client, { reason: 'invalid_credentials' });
      return { kind: 'refused', code: 'invalid_credentials' };
    }
    if (!found.account.isActive) {
      await this.record('login_failed', found.account, client, { reason: 'account_deactivated' });
      return { kind: 'refused', code: 'account_deactivated' };
    }
    await this.throttle.loginSucceeded(username, client.address);
    await this.renewHash(found, password, hashing);
    return this.transaction.run(async () => {
      const tokens = await this.begin(found.account, client);
      await this.record('login_succeeded', found.account, client, {});
      return { kind: 'signed-in', tokens };
    });
  }

  /** A one-time password that was not used in time. */
  private isSpent({ oneTimeUntil }: Account): boolean {
    return oneTimeUntil !== null && oneTimeUntil <= this.clock.now();
  }

  /** A hash of another cost is made anew now that the password is at hand; unless it was changed meanwhile. */
  private async renewHash(
    { account, passwordHash }: AccountWithHash,
    password: string,
    hashing: Hashing,
  ): Promise<void> {
    if (this.hasher.isCurrent(passwordHash)) return;
    const hash = await hashing.hash(password);
    await this.users.replaceHash(account.id, passwordHash, { hash, oneTimeUntil: account.oneTimeUntil });
  }

  private async begin(account: Account, client: Client): Promise<TokenPair> {
    const createdAt = this.clock.now();
    const session = {
      id: this.ids.uuid(),
      userId: account.id,
      createdAt,
      expiresAt: new Date(createdAt.getTime() + this.settings.auth.sessionMaxDays * DAY_MS),
      userAgent: client.userAgent?.slice(0, 256) ?? null,
      address: client.address,
    };
    const refresh = this.tokens.nextRefresh();
    await this.sessions.begin(session, refresh.stored);
    return this.tokens.issue(session, refresh);
  }

  /** Without the name that was typed: people type passwords there. An account that exists is named by its own name. */
  private async record(
    event: AuditEventName,
    account: Account | null,
    client: Client,
    details: Record<string, string>,
  ): Promise<void> {
    const subject = account === null ? null : userSubject(account);
    const actor = event === 'login_succeeded' ? account : null;
    await this.audit.record({ event, actor, subject, origin: client, details });
  }
}
