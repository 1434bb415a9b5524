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
import { Ids, isUuid } from '../kernel/ids.js';
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
import { invalidToken } from './domain/claims.js';
import { judgeRotation } from './domain/refresh-rotation.js';
import type { Account } from '../users/domain/account.js';
import type {
  AdmittedSession,
  BrowserSession,
  PresentedRefresh,
  Session,
  SessionView,
  SignInProof,
} from './domain/session.js';
import { isRecentProof, requireRecentProof } from './domain/session.js';
import { SessionStore } from './session.store.js';
import type { ThrottledAttempt } from './throttle.store.js';
import { storedId, type TokenPair, TokensService } from './tokens.service.js';

const HOUR_MS = 3_600_000;

/** The user that a strategy puts on a request, with the account that it read. */
export interface AdmittedAccount extends AdmittedUser {
  account: Account;
}

export type AdmittedRequest = AuthenticatedRequest & { user: AdmittedAccount };

export function admittedAccount(
  account: Account,
  credential: AuthenticatedUser['credential'],
  isStillAdmitted: AuthenticatedUser['isStillAdmitted'],
): AdmittedAccount {
  const { id, username, role, oneTimeUntil } = account;
  return { id, username, role, credential, isStillAdmitted, mustChangePassword: oneTimeUntil !== null, account };
}

/** Opens, refreshes, lists and ends sessions. */
@Injectable()
export class SessionsService {
  /** Hook of a later module: the address that signs a session out at the identity provider; null: the session did not begin there. */
  signOutUrl: (sessionId: string) => Promise<string | null> = () => Promise.resolve(null);
  /** Hook of a later module, called at every use of a session. It must not throw, and works in the background. */
  noteUse: (sessionId: string) => void = () => undefined;
  /** Hook of a later module: ends the API tokens of an account in the running transaction. @returns how many */
  revokeTokens: (userId: number) => Promise<number> = () => Promise.resolve(0);

  constructor(
    private readonly sessions: SessionStore,
    private readonly tokens: TokensService,
    private readonly audit: AuditService,
    private readonly transaction: Transaction,
    private readonly clock: Clock,
    private readonly ids: Ids,
    private readonly digests: KeyedDigests,
    private readonly settings: Settings,
  ) {}

  /** Records a refused sign-in. An existing account is recorded by its own name; the typed name is not recorded: it may be a password. */
  async recordFailure(account: Account | null, details: Record<string, string>, client: Client): Promise<void> {
    const subject = account === null ? null : userSubject(account);
    await this.audit.record({ event: 'login_failed', actor: null, subject, origin: client, details });
  }

  /** Records only the attempt that crossed the limit, so that a flood does not fill the audit trail. */
  async recordThrottled({ first, quota }: ThrottledAttempt, client: Client): Promise<void> {
    if (!first) return;
    const details = { limit: quota.name };
    await this.audit.record({ event: 'login_throttled', actor: null, subject: null, origin: client, details });
  }

  /** Ends all sessions of an account except one, and all its API tokens. */
  async endAllOf(userId: number, except: string | null): Promise<{ ended: number; revokedTokens: number }> {
    const ended = await this.sessions.endAllOf(userId, this.clock.now(), except);
    return { ended, revokedTokens: await this.revokeTokens(userId) };
  }

  /**
   * Ends sessions that began at the identity provider.
   * @param by `oidc`: the provider reported their end; `recheck`: the provider refused to renew them; `unlink`: the account was unlinked
   */
  async endProviderSessions(
    sessionIds: readonly string[],
    by: 'oidc' | 'recheck' | 'unlink',
    client: Client | null,
  ): Promise<void> {
    return this.transaction.run(async () => {
      for (const id of sessionIds)
        await this.endWithEvent('session_ended', id, { actor: null, origin: client }, { by });
    });
  }

  /** Ends a session, which is an event unless it had ended. */
  private async endWithEvent(
    event: AuditEventName,
    id: string,
    by: AuditContext,
    details: AuditEntry['details'],
  ): Promise<void> {
    await this.transaction.run(async () => {
      if (!(await this.sessions.end(id, this.clock.now()))) return;
      await this.audit.record({ event, ...by, subject: sessionSubject(id), details });
    });
  }

  /** Opens a session with tokens. @returns null: meanwhile the account was deactivated or its hash changed */
  open(account: Account, proof: SignInProof, client: Client): Promise<{ sessionId: string; tokens: TokenPair } | null> {
    const refresh = this.tokens.newRefresh(null);
    return this.begin(account, proof, client, async (session) => {
      if (!(await this.sessions.begin(session, refresh.stored, proof))) return null;
      return { sessionId: session.id, tokens: this.tokens.issue(session, refresh) };
    });
  }

  /** Opens a session of the web console. @returns its cookie, of which only a digest is stored; null as in `open` */
  openForBrowser(
    account: Account,
    proof: SignInProof,
    client: Client,
  ): Promise<{ sessionId: string; cookie: string } | null> {
    const cookie = this.ids.bytes(COOKIE_BYTES).toString('base64url');
    return this.begin(account, proof, client, async (session) => {
      const stored = { ...proof, provedAt: proof.provedAt ?? session.createdAt };
      const isStored = await this.sessions.begin(session, this.digests.digestOf('cookie', cookie), stored);
      return isStored ? { sessionId: session.id, cookie } : null;
    });
  }

  private begin<T>(
    account: Account,
    proof: SignInProof,
    client: Client,
    store: (session: Session) => Promise<T | null>,
  ): Promise<T | null> {
    const session = this.tokens.newSession(account.id, client, proof.longest);
    const isBreakGlass = proof.checkedHash !== null && !this.settings.auth.passwordSignInEnabled;
    const details = { ...(proof.by !== null && { by: proof.by }), ...(isBreakGlass && { break_glass: true }) };
    return this.transaction.run(async () => {
      const opened = await store(session);
      if (opened === null) return null;
      const subject = userSubject(account);
      await this.audit.record({ event: 'login_succeeded', actor: account, subject, origin: client, details });
      return opened;
    });
  }

  /**
   * Exchanges a refresh token for the next pair, once (RFC 9700 section 4.14.2).
   * @throws Refused `token_invalid`, `token_expired`, `token_superseded`
   */
  async refresh(refreshToken: string, client: Client): Promise<TokenPair> {
    const { jti, userId, sessionId } = this.tokens.readRefreshToken(refreshToken);
    const id = storedId(jti);
    const next = this.tokens.newRefresh(jti);
    const session = await this.sessions.rotate(id, { id: sessionId, userId }, next.stored);
    if (session !== null) return this.tokens.issue(session, next);
    const found = await this.sessions.findRefresh(id, this.clock.now());
    if (found?.session.userId !== userId || found.session.id !== sessionId) throw invalidToken('session-ended');
    return this.repeatOrRefuse(jti, found, client);
  }

  /** Issues the current pair again, or throws the refusal, for a token that is not live. */
  private async repeatOrRefuse(
    jti: string,
    { session, presented, current }: PresentedRefresh,
    client: Client,
  ): Promise<TokenPair> {
    const repeatMs = this.settings.auth.refreshRepeatSeconds * 1_000;
    const verdict = judgeRotation(presented, current, this.clock.now().getTime(), repeatMs);
    if (verdict === 'repeat' && current !== null) {
      const stored = { id: current.id, issuedAt: new Date(current.issuedAt), expiresAt: new Date(current.expiresAt) };
      const living = { ...session, expiresAt: new Date(session.expiresAt) };
      return this.tokens.issue(living, { jti: this.tokens.jtiAfter(jti), stored });
    }
    if (verdict === 'expired') throw new Refused('token_expired');
    if (verdict !== 'reuse') throw new Refused('token_superseded');
    await this.endWithEvent('refresh_reused', session.id, { actor: null, origin: client }, { user_id: session.userId });
    throw invalidToken('reused');
  }

  /** The account of a live session; null: the session has ended, or belongs to another account. */
  accountOf({ id, userId }: Pick<Session, 'id' | 'userId'>): Promise<AdmittedSession | null> {
    return this.sessions.admit(id, userId, this.clock.now());
  }

  /** The session of a cookie. Records its use. */
  async admitBrowser(cookie: string): Promise<BrowserSession | null> {
    if (!hasCookieForm(cookie)) return null;
    const { now, idleSince } = this.times();
    return this.sessions.admitBrowser(this.digests.digestOf('cookie', cookie), idleSince, now);
  }

  /** Records a new proof of the person. @returns false: the account has no such live session that requires proofs */
  async prove(
    sessionId: string,
    account: { id: number; username: string },
    { at, by }: { at: Date; by: 'oidc' | 'password' },
    client: Client,
  ): Promise<boolean> {
    return this.transaction.run(async () => {
      if (!(await this.sessions.prove({ id: sessionId, userId: account.id }, at, this.clock.now()))) return false;
      const [subject, details] = [sessionSubject(sessionId), { by }];
      await this.audit.record({ event: 'session_confirmed', actor: account, subject, origin: client, details });
      return true;
    });
  }

  /** @throws Refused `reauthentication_required` if the last proof is too old */
  requireRecentProof(user: AuthenticatedUser): void {
    requireRecentProof(user, this.clock.now());
  }

  isRecent(provedAt: Date): boolean {
    return isRecentProof(provedAt, this.clock.now());
  }

  private times(): { now: Date; idleSince: Date } {
    const now = this.clock.now();
    return { now, idleSince: new Date(now.getTime() - this.settings.console.idleHours * HOUR_MS) };
  }

  /**
   * Ends the user's session, whose tokens are refused from now on.
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
    by: AuditContext,
  ): Promise<void> {
    await this.transaction.run(async () => {
      const details = { ended: await this.sessions.endAllOf(account.id, this.clock.now(), null) };
      await this.audit.record({ event, ...by, subject: userSubject(account), details });
    });
  }

  async list(userId: number, { limit, after }: PageRequest): Promise<Page<SessionView>> {
    const sessions = await this.sessions.listOf(userId, this.times(), after, limit + 1);
    return pageOf(sessions, limit, (session) => session.number);
  }

  /** Ends a session. Records no event if it had ended before. @throws Refused `not_found`, also for a malformed id */
  async end(userId: number, sessionId: string, by: AuditContext): Promise<void> {
    if (!isUuid(sessionId)) throw new Refused('not_found');
    await this.transaction.run(async () => {
      const end = await this.sessions.endSessionOf(userId, sessionId, this.clock.now());
      if (end === 'unknown') throw new Refused('not_found');
      if (end === 'had-ended') return;
      await this.audit.record({ event: 'session_ended', ...by, subject: sessionSubject(sessionId), details: {} });
    });
  }
}

const sessionSubject = (id: string): AuditSubject => ({ type: 'session', id, name: null });
