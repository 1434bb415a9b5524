import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import { type AuditEventName, userSubject } from '../audit/domain/audit-event.js';
import { Clock } from '../kernel/clock.js';
import { Ids } from '../kernel/ids.js';
import type { Client } from '../platform/access.js';
import { Settings } from '../platform/settings.js';
import { Transaction } from '../platform/transaction.js';
import type { Account, AccountWithHash } from '../users/domain/account.js';
import { UsersService } from '../users/users.service.js';
import { CredentialsService } from './credentials.service.js';
import { type Hashing, PasswordHasher } from './domain/password.js';
import { SessionStore } from './domain/session.js';
import type { ThrottledAttempt } from './domain/throttle.js';
import { type TokenPair, TokensService } from './tokens.service.js';

export type SignIn =
  | { kind: 'signed-in'; tokens: TokenPair }
  | { kind: 'refused'; code: 'invalid_credentials' | 'account_deactivated' }
  | ThrottledAttempt;

const DAY_MS = 86_400_000;

/** From a name and a password to a session (source document 4.2). */
@Injectable()
export class SignInService {
  constructor(
    private readonly credentials: CredentialsService,
    private readonly users: UsersService,
    private readonly hasher: PasswordHasher,
    private readonly sessions: SessionStore,
    private readonly tokens: TokensService,
    private readonly audit: AuditService,
    private readonly transaction: Transaction,
    private readonly clock: Clock,
    private readonly ids: Ids,
    private readonly settings: Settings,
  ) {}

  async signIn(username: string, password: string, client: Client, signal: AbortSignal): Promise<SignIn> {
    const presented = { username, password, find: () => this.find(username) };
    const proof = await this.credentials.prove(presented, client, signal, (found, hashing) =>
      this.begin(found, password, client, hashing),
    );
    switch (proof.kind) {
      case 'proved':
        return { kind: 'signed-in', tokens: proof.outcome };
      case 'throttled':
        if (proof.first) await this.record('login_throttled', null, client, { limit: proof.quota.name });
        return proof;
      case 'wrong-password':
        return this.refuse('invalid_credentials', proof.account, client);
      case 'deactivated':
        return this.refuse('account_deactivated', proof.account, client);
    }
  }

  /** An expired one-time password counts as none. */
  private async find(username: string): Promise<{ account: Account; passwordHash: string | null } | null> {
    const found = await this.users.findForLogin(username);
    const isSpent =
      found !== null && found.account.oneTimeUntil !== null && found.account.oneTimeUntil <= this.clock.now();
    return isSpent ? { account: found.account, passwordHash: null } : found;
  }

  private async refuse(
    code: 'invalid_credentials' | 'account_deactivated',
    account: Account | null,
    client: Client,
  ): Promise<SignIn> {
    await this.record('login_failed', account, client, { reason: code });
    return { kind: 'refused', code };
  }

  /** Null: the account changed since its password was checked. */
  private async begin(
    found: AccountWithHash,
    password: string,
    client: Client,
    hashing: Hashing,
  ): Promise<TokenPair | null> {
    const passwordHash = await this.renewHash(found, password, hashing);
    const createdAt = this.clock.now();
    const session = {
      id: this.ids.uuid(),
      userId: found.account.id,
      createdAt,
      expiresAt: new Date(createdAt.getTime() + this.settings.auth.sessionMaxDays * DAY_MS),
      userAgent: client.userAgent?.slice(0, 256) ?? null,
      address: client.address,
    };
    const refresh = this.tokens.nextRefresh();
    return this.transaction.run(async () => {
      if (!(await this.sessions.begin(session, refresh.stored, passwordHash))) return null;
      await this.record('login_succeeded', found.account, client, {});
      return this.tokens.issue(session, refresh);
    });
  }

  /** Replaces a hash of another cost while the password is known. @returns the stored hash. */
  private async renewHash(
    { account, passwordHash }: AccountWithHash,
    password: string,
    hashing: Hashing,
  ): Promise<string> {
    if (this.hasher.isCurrent(passwordHash)) return passwordHash;
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
    const actor = event === 'login_succeeded' ? account : null;
    await this.audit.record({ event, actor, subject, origin: client, details });
  }
}
