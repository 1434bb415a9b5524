import { Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { SessionsService } from '../../auth/sessions.service.js';
import { Clock, Timers } from '../../kernel/clock.js';
import { Refused } from '../../kernel/errors.js';
import { secretDigest } from '../../kernel/secret.js';
import type { Client } from '../../platform/http/access.js';
import { Log } from '../../platform/log/log.js';
import { Transaction } from '../../platform/database/transaction.js';
import { Settings } from '../../platform/settings/settings.js';
import { sessionsEndedBy } from './domain/claims.js';
import type { Recheck } from './domain/provider-session.js';
import { IdentityProvider, type Renewal } from './identity-provider.js';
import { OidcMetrics } from './oidc.metrics.js';
import { requireOidc } from './oidc-settings.js';
import { OidcStore } from './oidc.store.js';
import { PeopleService } from './people.service.js';
import { SealService } from './seal.service.js';

const MINUTE_MS = 60_000;

/** Milliseconds for which a used logout token is remembered: longer than it is accepted (`maxTokenAge`). */
const REMEMBERED_MS = 60 * MINUTE_MS;

/** The most concurrent requests to the provider: many people begin work at the same hour. */
const MOST_AT_ONCE = 4;

/** The most sessions whose next recheck is kept in memory. For others the database is read again. */
const MOST_KNOWN = 10_000;

/** Milliseconds for which a shutdown waits for the provider's answer, which may contain the only refresh token that is still valid. */
const STOP_MS = 6_000;

/**
 * Synchronizes sessions with the provider. A sign-out on one side ends the session on the other. Because providers do not report people
 * who left, one replica rechecks each session in use in the background. Only a clear refusal ends a session; without an answer it lives
 * to its limit.
 */
@Injectable()
export class OidcSessionsService implements OnModuleInit, OnModuleDestroy {
  /** The time of each session's next recheck, in milliseconds since 1970. */
  private readonly nextAt = new Map<string, number>();
  /** Sessions that wait for a recheck, each once, however long the provider takes. */
  private readonly waiting = new Set<string>();
  private readonly underWay = new Set<Promise<void>>();
  private isStopping = false;
  private isSilent = false;

  constructor(
    private readonly settings: Settings,
    private readonly provider: IdentityProvider,
    private readonly store: OidcStore,
    private readonly people: PeopleService,
    private readonly sessions: SessionsService,
    private readonly seal: SealService,
    private readonly transaction: Transaction,
    private readonly clock: Clock,
    private readonly timers: Timers,
    private readonly metrics: OidcMetrics,
    private readonly log: Log,
  ) {}

  onModuleInit(): void {
    if (this.settings.oidc === null) return;
    this.sessions.noteUse = (sessionId) => this.noteUse(sessionId);
    if (requireOidc(this.settings).signOutAtProvider)
      this.sessions.signOutUrl = (sessionId) => this.signOutUrl(sessionId);
  }

  async onModuleDestroy(): Promise<void> {
    this.isStopping = true;
    await this.timers.waitAtMost(STOP_MS, Promise.all(this.underWay));
  }

  /**
   * Ends the sessions that a logout token names: those of one session of the provider, or of a person.
   * @throws Refused `logout_token_invalid`, `provider_unavailable`
   */
  async endByProvider(token: string, client: Client): Promise<void> {
    const { issuer, clientId } = requireOidc(this.settings);
    const verdict = await this.provider.verifyPresented(token, clientId, 'logout+jwt');
    if (verdict.kind === 'failed') {
      const { code, reason } = verdict;
      throw code === 'provider_unavailable' ? new Refused(code) : new Refused('logout_token_invalid', { reason });
    }
    const logout = sessionsEndedBy(verdict.claims);
    if (logout === null) throw new Refused('logout_token_invalid', { reason: 'claims' });
    const [now, at] = [this.clock.now(), new Date(Number(verdict.claims['iat']) * 1000)];
    await this.transaction.run(async () => {
      const until = new Date(now.getTime() + REMEMBERED_MS);
      if (!(await this.store.markUsed(secretDigest(`logout ${logout.jti}`), until, now))) {
        throw new Refused('logout_token_invalid', { reason: 'used before' });
      }
      await this.sessions.endProviderSessions(
        await this.store.recordSignOut(issuer, logout.ended, at, now),
        'oidc',
        client,
      );
    });
  }

  private async signOutUrl(sessionId: string): Promise<string | null> {
    const session = await this.store.sessionOf(sessionId);
    if (session?.issuer !== requireOidc(this.settings).issuer) return null;
    const idToken = session.idToken === null ? null : this.seal.open('id-token', session.idToken);
    return idToken === null ? null : this.provider.signOutUrl(idToken);
  }

  private noteUse(sessionId: string): void {
    const now = this.clock.now().getTime();
    if (now < (this.nextAt.get(sessionId) ?? 0)) return;
    this.scheduleRecheck(sessionId, now + this.interval);
    this.waiting.add(sessionId);
    this.startRechecks();
  }

  private startRechecks(): void {
    if (this.isStopping || this.underWay.size >= MOST_AT_ONCE) return;
    const [sessionId] = this.waiting;
    if (sessionId === undefined) return;
    this.waiting.delete(sessionId);
    const recheck = this.recheck(sessionId)
      .catch((error: unknown) => this.log.warn('session could not be checked at the provider', { err: error }))
      .finally(() => {
        this.underWay.delete(recheck);
        this.startRechecks();
      });
    this.underWay.add(recheck);
  }

  private async recheck(sessionId: string): Promise<void> {
    const recheck = await this.takeRecheck(sessionId);
    if (recheck?.isDue === true) await this.askProvider(sessionId, recheck);
    else if (recheck !== null) this.scheduleRecheck(sessionId, recheck.askedAt.getTime() + this.interval);
    else if (requireOidc(this.settings).groupsClaim !== null) await this.recheckGroups(sessionId);
    // The provider cannot be asked about this session, and nothing depends on it.
    else this.scheduleRecheck(sessionId, Infinity);
  }

  /** Rechecks groups for a session without a refresh token by another session of its account. Without one, memberships expire. */
  private async recheckGroups(sessionId: string): Promise<void> {
    const found = await this.store.otherSession(sessionId, requireOidc(this.settings).issuer, this.clock.now());
    if (found === null) return;
    const recheck = found.sessionId === null ? null : await this.takeRecheck(found.sessionId);
    if (found.sessionId === null || recheck === null) return this.people.endExpiredGroups(found.userId);
    // If the other session has ended, the account may have a third one.
    if (recheck.isDue && (await this.askProvider(found.sessionId, recheck)) === 'ended')
      await this.recheckGroups(sessionId);
  }

  private takeRecheck(sessionId: string): Promise<Recheck | null> {
    const now = this.clock.now();
    return this.store.takeRecheck(sessionId, new Date(now.getTime() - this.interval), now);
  }

  /** Asks the provider whether a session goes on. @returns null: the refresh token cannot be used */
  private async askProvider(sessionId: string, recheck: Recheck): Promise<Renewal['kind'] | null> {
    const { session } = recheck;
    const refreshToken = this.seal.open('refresh-token', session.refreshToken);
    if (refreshToken === null || session.issuer !== requireOidc(this.settings).issuer) return null;
    const renewal = await this.provider.renew(refreshToken);
    await this.applyRenewal(renewal, sessionId, recheck).finally(() =>
      this.metrics.rechecks.inc({ outcome: renewal.kind }),
    );
    return renewal.kind;
  }

  private async applyRenewal(renewal: Renewal, sessionId: string, { userId, session }: Recheck): Promise<void> {
    if (renewal.kind === 'ended') return this.endSession(sessionId, session.refreshToken);
    // The new token is stored first, because the provider may refuse the former one from now on.
    const kept = await this.keepToken(sessionId, session.refreshToken, renewal.refreshToken);
    this.noteSilence(renewal.kind === 'silent' ? renewal.reason : null);
    if (renewal.kind === 'silent' || renewal.claims === null) return;
    if (renewal.claims['sub'] !== session.subject) return this.endSession(sessionId, kept);
    // An unlink may have ended the session and its memberships meanwhile.
    const account = await this.sessions.accountOf({ id: sessionId, userId });
    if (account === null) return;
    // If too much is being written, the next recheck follows the groups.
    const by = { actor: null, origin: null };
    await this.people.applyGroupsClaim(account, renewal.claims, by, { isReported: false, heldMs: 0 });
  }

  /** Stores the next refresh token. @returns the sealed token that the session has now, unless another sign-in has replaced it */
  private async keepToken(sessionId: string, former: string, next: string | null): Promise<string> {
    if (next === null) return former;
    const sealed = this.seal.seal('refresh-token', next);
    await this.store.replaceRefreshToken(sessionId, former, sealed);
    return sealed;
  }

  /** Ends the session, unless the person has confirmed it meanwhile, which gave it another refresh token. */
  private async endSession(sessionId: string, refreshToken: string): Promise<void> {
    await this.transaction.run(async () => {
      if (!(await this.store.replaceRefreshToken(sessionId, refreshToken, null))) return;
      await this.sessions.endProviderSessions([sessionId], 'recheck', null);
    });
  }

  /** Logs the first unusable answer, and the next one only after a usable one. */
  private noteSilence(reason: string | null): void {
    if (reason !== null && !this.isSilent) this.log.warn('session could not be checked at the provider', { reason });
    this.isSilent = reason !== null;
  }

  private scheduleRecheck(sessionId: string, at: number): void {
    this.nextAt.delete(sessionId);
    const [oldest] = this.nextAt.keys();
    if (this.nextAt.size >= MOST_KNOWN && oldest !== undefined) this.nextAt.delete(oldest);
    this.nextAt.set(sessionId, at);
  }

  private get interval(): number {
    return requireOidc(this.settings).recheckMinutes * MINUTE_MS;
  }
}
