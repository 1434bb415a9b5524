import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import { type AuditContext, type AuditSubject, userSubject } from '../audit/domain/audit-event.js';
import { Clock } from '../kernel/clock.js';
import { Refused } from '../kernel/errors.js';
import { Ids } from '../kernel/ids.js';
import { type Page, pageOf, type PageRequest } from '../kernel/page.js';
import { type Client, type AuthenticatedUser, sessionIdOf } from '../platform/access.js';
import { KeyedDigests } from '../platform/keyed-digests.js';
import { Settings } from '../platform/settings.js';
import { Transaction } from '../platform/transaction.js';
import { COOKIE_BYTES, hasCookieForm } from './domain/browser-cookie.js';
import type { Account } from '../users/domain/account.js';
import {
  type BrowserProof,
  type BrowserSession,
  type Session,
  type SessionView,
  type StoredProof,
  type VouchedProof,
  SessionStore,
} from './domain/session.js';
import { type TokenPair, TokensService } from './tokens.service.js';

/** Of the audit event of a sign-in. */
type Details = Record<string, string | boolean>;

const HOUR_MS = 3_600_000;

/** How long a proof counts for what asks for a recent one. */
const PROOF_MS = 5 * 60_000;

/** Opens, lists and ends sessions. */
@Injectable()
export class SessionsService {
  private signOutUrl: (sessionId: string) => Promise<string | null> = () => Promise.resolve(null);

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

  /**
   * Opens a session for an account that has proved who it is.
   * @param checkedHash the stored hash that the password was checked against
   * @returns null: the account was deactivated or its hash changed meanwhile
   */
  open(account: Account, checkedHash: string, client: Client): Promise<TokenPair | null> {
    const opened = { checkedHash, provedAt: null, client, details: this.byPassword };
    return this.begin(account, this.tokens.nextSession(account.id, client), opened);
  }

  /**
   * Opens a session for an account that the identity provider vouched for.
   * @param by for the audit event
   * @returns null: the account is not active
   */
  async openVouched(
    account: Account,
    { provedAt, longest, by }: VouchedProof & { by: 'oidc' | 'exchange' },
    client: Client,
  ): Promise<{ sessionId: string; tokens: TokenPair } | null> {
    const session = this.tokens.nextSession(account.id, client, longest);
    const tokens = await this.begin(account, session, { checkedHash: null, provedAt, client, details: { by } });
    return tokens === null ? null : { sessionId: session.id, tokens };
  }

  /** Sessions that began at the identity provider are signed out there, too. @param url where; null: it began here */
  signOutElsewhere(url: (sessionId: string) => Promise<string | null>): void {
    this.signOutUrl = url;
  }

  /** Ends sessions of anybody that began at the identity provider. @param by `oidc`: it said so; `recheck`: it does not vouch any more; `unlink`: here */
  async endVouched(
    sessionIds: readonly string[],
    by: 'oidc' | 'recheck' | 'unlink',
    client: Client | null,
  ): Promise<void> {
    return this.transaction.run(async () => {
      for (const id of sessionIds) {
        if (!(await this.sessions.end(id, this.clock.now()))) continue;
        const [subject, details] = [sessionSubject(id), { by }];
        await this.audit.record({ event: 'session_ended', actor: null, subject, origin: client, details });
      }
    });
  }

  /**
   * Opens a session without tokens for the web console.
   * @returns with the cookie's value, which is stored nowhere; null: the account was deactivated or its hash changed meanwhile
   */
  async openForBrowser(
    account: Account,
    proof: BrowserProof,
    client: Client,
  ): Promise<{ sessionId: string; cookie: string } | null> {
    const isVouched = 'provedAt' in proof;
    const session = this.tokens.nextSession(account.id, client, isVouched ? proof.longest : undefined);
    const { checkedHash, provedAt } = isVouched
      ? { ...proof, checkedHash: null }
      : { ...proof, provedAt: session.createdAt };
    const cookie = this.ids.bytes(COOKIE_BYTES).toString('base64url');
    return this.transaction.run(async () => {
      if (!(await this.sessions.beginForBrowser(session, this.digests.of('cookie', cookie), { checkedHash, provedAt })))
        return null;
      await this.recordSignIn(account, client, isVouched ? { by: 'oidc' } : { by: 'console', ...this.byPassword });
      return { sessionId: session.id, cookie };
    });
  }

  /** The account of a session that lives; null: it does not, or is another's. */
  accountOf({ id, userId }: Pick<Session, 'id' | 'userId'>): Promise<Account | null> {
    return this.sessions.admit(id, userId, this.clock.now());
  }

  /** The session of a cookie, used now. */
  async admitBrowser(cookie: string): Promise<BrowserSession | null> {
    if (!hasCookieForm(cookie)) return null;
    const { now, idleSince } = this.times();
    return this.sessions.admitBrowser(this.digests.of('cookie', cookie), idleSince, now);
  }

  /** The person has proved once more who it is. @returns false: the account has no such session that lives and asks for it */
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

  /** @throws Refused `reauthentication_required` where the person proved who it is too long ago */
  requireRecentProof({ credential }: AuthenticatedUser): void {
    const provedAt = credential.kind === 'session' ? credential.provedAt : null;
    if (provedAt !== null && !this.isRecent(provedAt)) throw new Refused('reauthentication_required');
  }

  /** Whether a proof counts for what asks for a recent one. */
  isRecent(provedAt: Date): boolean {
    return this.clock.now().getTime() - provedAt.getTime() <= PROOF_MS;
  }

  private times(): { now: Date; idleSince: Date } {
    const now = this.clock.now();
    return { now, idleSince: new Date(now.getTime() - this.settings.console.idleHours * HOUR_MS) };
  }

  private get byPassword(): Details {
    return this.settings.auth.passwordSignInEnabled ? {} : { break_glass: true };
  }

  private async recordSignIn(account: Account, client: Client, details: Details): Promise<void> {
    const subject = userSubject(account);
    await this.audit.record({ event: 'login_succeeded', actor: account, subject, origin: client, details });
  }

  private async begin(
    account: Account,
    session: Session,
    { client, details, ...proof }: StoredProof & { client: Client; details: Details },
  ): Promise<TokenPair | null> {
    const refresh = this.tokens.nextRefresh(null);
    return this.transaction.run(async () => {
      if (!(await this.sessions.begin(session, refresh.stored, proof))) return null;
      await this.recordSignIn(account, client, details);
      return this.tokens.issue(session, refresh);
    });
  }

  /**
   * Its access tokens are refused from the next request on, its refresh token at once.
   * @returns where the user signs out at the identity provider; null: the session did not begin there
   */
  async logout(user: AuthenticatedUser, client: Client): Promise<string | null> {
    const id = sessionIdOf(user);
    const subject = sessionSubject(id);
    await this.transaction.run(async () => {
      if (!(await this.sessions.end(id, this.clock.now()))) return;
      await this.audit.record({ event: 'logout', actor: user, subject, origin: client, details: {} });
    });
    return this.signOutUrl(id);
  }

  async logoutAll(user: AuthenticatedUser, client: Client): Promise<void> {
    await this.transaction.run(async () => {
      const ended = await this.sessions.endAllOf(user.id, this.clock.now(), null);
      const subject = userSubject(user);
      await this.audit.record({ event: 'logout_all', actor: user, subject, origin: client, details: { ended } });
    });
  }

  async list(userId: number, { limit, after }: PageRequest): Promise<Page<SessionView>> {
    const sessions = await this.sessions.ownedBy(userId).list(this.times(), after, limit + 1);
    return pageOf(sessions, limit, (session) => session.number);
  }

  /** False: the user never had such a session. Ending an ended one is no event. */
  async end(userId: number, sessionId: string, by: AuditContext): Promise<boolean> {
    return this.transaction.run(async () => {
      const end = await this.sessions.ownedBy(userId).end(sessionId, this.clock.now());
      if (end === 'ended') {
        const subject = sessionSubject(sessionId);
        await this.audit.record({ event: 'session_ended', ...by, subject, details: {} });
      }
      return end !== 'unknown';
    });
  }
}

export const sessionSubject = (id: string): AuditSubject => ({ type: 'session', id, name: null });
