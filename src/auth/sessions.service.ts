import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import {
  type AuditContext,
  type AuditEntry,
  type AuditEventName,
  type AuditSubject,
  userSubject,
} from '../audit/domain/audit-event.js';
import { Clock } from '../kernel/clock.js';
import { Refused } from '../kernel/errors.js';
import { IdSource } from '../kernel/ids.js';
import { type Page, pageOf, type PageRequest } from '../kernel/page.js';
import {
  type AdmittedUser,
  type AuthenticatedRequest,
  type AuthenticatedUser,
  type Client,
  sessionIdOf,
} from '../platform/http/access.js';
import { KeyedDigests } from '../platform/settings/keyed-digests.js';
import { Settings } from '../platform/settings/settings.js';
import { Transaction } from '../platform/database/transaction.js';
import { COOKIE_BYTES, hasCookieForm } from './domain/browser-cookie.js';
import { invalidTokenRefusal } from './domain/claims.js';
import { judgeRotation } from './domain/refresh-rotation.js';
import type { Account } from '../users/domain/account.js';
import type {
  SessionAccount,
  BrowserSession,
  PresentedRefresh,
  Session,
  SessionView,
  SignInProof,
} from './domain/session.js';
import { isRecentProof, requireRecentProof } from './domain/session.js';
import { SessionStore } from './session.store.js';
import type { ThrottledAttempt } from './throttle.store.js';
import { refreshTokenId, type TokenPair, TokensService } from './tokens.service.js';

const HOUR_MS = 3_600_000;

/** The user that an authentication strategy sets on a request, with the account from the database. */
export interface AdmittedAccount extends AdmittedUser {
  account: Account;
}

export type AdmittedRequest = AuthenticatedRequest & { user: AdmittedAccount };

export function toAdmittedAccount(
  account: Account,
  credential: AuthenticatedUser['credential'],
  isStillAdmitted: AuthenticatedUser['isStillAdmitted'],
): AdmittedAccount {
  const { id, username, role, passwordExpiresAt } = account;
  const mustChangePassword = passwordExpiresAt !== null;
  return { id, username, role, credential, isStillAdmitted, mustChangePassword, account };
}

/** Opens, refreshes, lists and ends sessions. */
@Injectable()
export class SessionsService {
  /** Set by OidcSessionsService: gets the address that ends a session at the identity provider; null: the session did not begin there. */
  signOutUrl: (sessionId: string) => Promise<string | null> = () => Promise.resolve(null);
  /** Set by OidcSessionsService, and called at every use of a session. Must not throw, and must do its work in the background. */
  recordUse: (sessionId: string) => void = () => undefined;
  /** Set by ApiTokensService: revokes the API tokens of an account in the running transaction, with an event for each. @returns their number */
  revokeTokens: (userId: number, context: AuditContext) => Promise<number> = () => Promise.resolve(0);

  constructor(
    private readonly sessions: SessionStore,
    private readonly tokens: TokensService,
    private readonly audit: AuditService,
    private readonly transaction: Transaction,
    private readonly clock: Clock,
    private readonly idSource: IdSource,
    private readonly digests: KeyedDigests,
    private readonly settings: Settings,
  ) {}

  /** Records a refused sign-in, or a wrong password in a session, with the account, if any. The typed name is not recorded: it may be a password. */
  async recordFailure(account: Account | null, details: Record<string, string>, client: Client): Promise<void> {
    const subject = account === null ? null : userSubject(account);
    await this.audit.record({ event: 'login_failed', actor: null, subject, origin: client, details });
  }

  /** Records a throttled attempt, but only the one that crossed the limit, so that a flood does not fill the audit trail. */
  async recordThrottled({ isFirst, quota }: ThrottledAttempt, client: Client): Promise<void> {
    if (!isFirst) return;
    const details = { limit: quota.name };
    await this.audit.record({ event: 'login_throttled', actor: null, subject: null, origin: client, details });
  }

  /** Ends all sessions of an account except `keptSessionId`, and all its API tokens. */
  async endAllOf(
    userId: number,
    keptSessionId: string | null,
    context: AuditContext,
  ): Promise<{ endedCount: number; revokedTokens: number }> {
    const endedCount = await this.sessions.endAllOf(userId, this.clock.now(), keptSessionId);
    return { endedCount, revokedTokens: await this.revokeTokens(userId, context) };
  }

  /**
   * Ends sessions that began at the identity provider.
   * @param reason `oidc`: the provider reported their end; `recheck`: the provider refused to renew them; `unlink`: the account was unlinked
   */
  async endProviderSessions(
    sessionIds: readonly string[],
    reason: 'oidc' | 'recheck' | 'unlink',
    client: Client | null,
  ): Promise<void> {
    return this.transaction.run(async () => {
      for (const id of sessionIds)
        await this.endWithEvent('session_ended', id, { actor: null, origin: client }, { by: reason });
    });
  }

  /** Ends a session, and records an event unless it had ended before. */
  private async endWithEvent(
    event: AuditEventName,
    id: string,
    context: AuditContext,
    details: AuditEntry['details'],
  ): Promise<void> {
    await this.transaction.run(async () => {
      if (!(await this.sessions.end(id, this.clock.now()))) return;
      await this.audit.record({ event, ...context, subject: sessionSubject(id), details });
    });
  }

  /** Opens a session with tokens. @returns null: meanwhile the account was deactivated or its hash changed */
  open(account: Account, proof: SignInProof, client: Client): Promise<{ sessionId: string; tokens: TokenPair } | null> {
    const refreshToken = this.tokens.newRefreshToken(null);
    return this.begin(account, proof, client, async (session) => {
      if (!(await this.sessions.begin(session, refreshToken.storedToken, proof))) return null;
      return { sessionId: session.id, tokens: this.tokens.issue(session, refreshToken) };
    });
  }

  /** Opens a session of the web console. @returns its cookie, of which only a digest is stored; null for the same reasons as in `open` */
  openForBrowser(
    account: Account,
    proof: SignInProof,
    client: Client,
  ): Promise<{ sessionId: string; cookie: string } | null> {
    const cookie = this.idSource.bytes(COOKIE_BYTES).toString('base64url');
    return this.begin(account, proof, client, async (session) => {
      const storedProof = { ...proof, provedAt: proof.provedAt ?? session.createdAt };
      const isStored = await this.sessions.begin(session, this.digests.digestOf('cookie', cookie), storedProof);
      return isStored ? { sessionId: session.id, cookie } : null;
    });
  }

  private begin<T>(
    account: Account,
    proof: SignInProof,
    client: Client,
    storeSession: (session: Session) => Promise<T | null>,
  ): Promise<T | null> {
    const session = this.tokens.newSession(account.id, client, proof.maxLifetimeMs);
    const isBreakGlass = proof.checkedHash !== null && !this.settings.auth.passwordSignInEnabled;
    const details = { ...(proof.method !== null && { by: proof.method }), ...(isBreakGlass && { break_glass: true }) };
    return this.transaction.run(async () => {
      const openedSession = await storeSession(session);
      if (openedSession === null) return null;
      const subject = userSubject(account);
      await this.audit.record({ event: 'login_succeeded', actor: account, subject, origin: client, details });
      return openedSession;
    });
  }

  /**
   * Exchanges a refresh token for a new pair of tokens. An exchanged token is accepted again only within `refreshRepeatSeconds` (RFC 9700 section 4.14.2).
   * @throws Refused `token_invalid`, `token_expired`, `token_superseded`
   */
  async refresh(refreshToken: string, client: Client): Promise<TokenPair> {
    const { jti, userId, sessionId } = this.tokens.readRefreshToken(refreshToken);
    const id = refreshTokenId(jti);
    const nextToken = this.tokens.newRefreshToken(jti);
    const session = await this.sessions.rotate(id, { id: sessionId, userId }, nextToken.storedToken);
    if (session !== null) return this.tokens.issue(session, nextToken);
    const presentedRefresh = await this.sessions.findRefreshToken(id, this.clock.now());
    if (presentedRefresh?.session.userId !== userId || presentedRefresh.session.id !== sessionId)
      throw invalidTokenRefusal('session-ended');
    return this.repeatOrRefuse(jti, presentedRefresh, client);
  }

  /** Judges a refresh token that is not live: issues the session's current pair again, or throws the refusal. A reused token also ends the session. */
  private async repeatOrRefuse(
    jti: string,
    { session, presentedToken, currentToken }: PresentedRefresh,
    client: Client,
  ): Promise<TokenPair> {
    const repeatWindowMs = this.settings.auth.refreshRepeatSeconds * 1_000;
    const verdict = judgeRotation(presentedToken, currentToken, this.clock.now().getTime(), repeatWindowMs);
    if (verdict === 'repeat' && currentToken !== null) {
      const { id, issuedAt, expiresAt } = currentToken;
      const storedToken = { id, issuedAt: new Date(issuedAt), expiresAt: new Date(expiresAt) };
      const liveSession = { ...session, expiresAt: new Date(session.expiresAt) };
      return this.tokens.issue(liveSession, { jti: this.tokens.nextJti(jti), storedToken });
    }
    if (verdict === 'expired') throw new Refused('token_expired');
    if (verdict !== 'reuse') throw new Refused('token_superseded');
    await this.endWithEvent('refresh_reused', session.id, { actor: null, origin: client }, { user_id: session.userId });
    throw invalidTokenRefusal('reused');
  }

  /** The account of a live session; null: the session has ended, or belongs to another account. */
  accountOf({ id, userId }: Pick<Session, 'id' | 'userId'>): Promise<SessionAccount | null> {
    return this.sessions.findLiveAccount(id, userId, this.clock.now());
  }

  /** The live session of a browser's cookie; null: there is none. @param isUse false for requests that open pages repeat: they do not extend the session */
  async admitBrowser(cookie: string, { isUse }: { isUse: boolean }): Promise<BrowserSession | null> {
    if (!hasCookieForm(cookie)) return null;
    const { now, idleSince } = this.sessionTimes();
    return this.sessions.admitBrowser(this.digests.digestOf('cookie', cookie), { now, idleSince, isUse });
  }

  /** Records that the person has authenticated again. @returns false: the account has no such live session, or the session never needs a new authentication */
  async recordProof(
    sessionId: string,
    account: { id: number; username: string },
    { provedAt, method }: { provedAt: Date; method: 'oidc' | 'password' },
    client: Client,
  ): Promise<boolean> {
    return this.transaction.run(async () => {
      if (!(await this.sessions.recordProof({ id: sessionId, userId: account.id }, provedAt, this.clock.now())))
        return false;
      const [subject, details] = [sessionSubject(sessionId), { by: method }];
      await this.audit.record({ event: 'session_confirmed', actor: account, subject, origin: client, details });
      return true;
    });
  }

  /** @throws Refused `reauthentication_required` if the person's last authentication is too old */
  requireRecentProof(user: AuthenticatedUser): void {
    requireRecentProof(user, this.clock.now());
  }

  isRecentProof(provedAt: Date): boolean {
    return isRecentProof(provedAt, this.clock.now());
  }

  private sessionTimes(): { now: Date; idleSince: Date } {
    const now = this.clock.now();
    return { now, idleSince: new Date(now.getTime() - this.settings.console.idleHours * HOUR_MS) };
  }

  /**
   * Ends the user's session. Its tokens are refused from now on.
   * @returns the address that signs the user out at the identity provider; null: the session did not begin there
   */
  async logout(user: AuthenticatedUser, client: Client): Promise<string | null> {
    const id = sessionIdOf(user);
    await this.endWithEvent('logout', id, { actor: user, origin: client }, {});
    return this.signOutUrl(id);
  }

  async endSessions(
    event: 'logout_all' | 'sessions_ended',
    account: Pick<Account, 'id' | 'username'>,
    context: AuditContext,
  ): Promise<void> {
    await this.transaction.run(async () => {
      const details = { ended: await this.sessions.endAllOf(account.id, this.clock.now(), null) };
      await this.audit.record({ event, ...context, subject: userSubject(account), details });
    });
  }

  async list(userId: number, { limit, after }: PageRequest): Promise<Page<SessionView>> {
    const sessions = await this.sessions.listOf(userId, this.sessionTimes(), after, limit + 1);
    return pageOf(sessions, limit, (session) => session.number);
  }

  /** Ends a session. Records no event if it had ended before. @throws Refused `not_found` */
  async end(userId: number, sessionId: string, context: AuditContext): Promise<void> {
    await this.transaction.run(async () => {
      const outcome = await this.sessions.endSessionOf(userId, sessionId, this.clock.now());
      if (outcome === 'unknown') throw new Refused('not_found');
      if (outcome === 'had-ended') return;
      await this.audit.record({ event: 'session_ended', ...context, subject: sessionSubject(sessionId), details: {} });
    });
  }
}

const sessionSubject = (id: string): AuditSubject => ({ type: 'session', id, name: null });
