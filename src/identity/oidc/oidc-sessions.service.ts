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
import { IdentityProvider, type Renewal, requireOidc } from './identity-provider.js';
import { OidcMetrics } from './oidc.metrics.js';
import { OidcStore } from './oidc.store.js';
import { PeopleService } from './people.service.js';
import { SealService } from './seal.service.js';

const MINUTE_MS = 60_000;

/** Milliseconds for which a used logout token is remembered, longer than the token is accepted (`TIME_CHECKS` of the identity provider). */
const LOGOUT_TOKEN_MEMORY_MS = 60 * MINUTE_MS;

/** The most concurrent rechecks, so that the provider is not flooded when many people begin work at the same hour. */
const MAX_CONCURRENT_RECHECKS = 4;

/** The most entries of `nextRecheckAt`. For other sessions the time of the next recheck is read from the database. */
const MAX_RECHECKS = 10_000;

/** Milliseconds for which a shutdown waits for the provider's answer, which may contain the only refresh token that is still valid. */
const SHUTDOWN_WAIT_MS = 6_000;

/**
 * Synchronizes sessions with the provider. A sign-out on one side ends the session on the other. Providers do not report that a person has
 * left, so each session in use is rechecked in the background, by one replica. Only a clear refusal of the provider ends a session; without
 * an answer the session goes on until it expires.
 */
@Injectable()
export class OidcSessionsService implements OnModuleInit, OnModuleDestroy {
  /** The time of each session's next recheck, in milliseconds since 1970. */
  private readonly nextRecheckAt = new Map<string, number>();
  /** Ids of sessions that wait for a recheck. */
  private readonly waitingSessionIds = new Set<string>();
  private readonly runningRechecks = new Set<Promise<void>>();
  private isStopping = false;
  private wasProviderSilent = false;

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
    this.sessions.recordUse = (sessionId) => this.queueRecheck(sessionId);
    if (requireOidc(this.settings).signOutAtProvider)
      this.sessions.signOutUrl = (sessionId) => this.signOutUrl(sessionId);
  }

  async onModuleDestroy(): Promise<void> {
    this.isStopping = true;
    await this.timers.waitAtMost(SHUTDOWN_WAIT_MS, Promise.all(this.runningRechecks));
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
    const logoutClaims = sessionsEndedBy(verdict.claims);
    if (logoutClaims === null) throw new Refused('logout_token_invalid', { reason: 'claims' });
    const [now, signedOutAt] = [this.clock.now(), new Date(Number(verdict.claims['iat']) * 1000)];
    await this.transaction.run(async () => {
      const rememberedUntil = new Date(now.getTime() + LOGOUT_TOKEN_MEMORY_MS);
      if (!(await this.store.markUsed(secretDigest(`logout ${logoutClaims.jti}`), rememberedUntil, now))) {
        throw new Refused('logout_token_invalid', { reason: 'used before' });
      }
      await this.sessions.endProviderSessions(
        await this.store.recordSignOut(issuer, logoutClaims.target, signedOutAt, now),
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

  private queueRecheck(sessionId: string): void {
    const now = this.clock.now().getTime();
    if (now < (this.nextRecheckAt.get(sessionId) ?? 0)) return;
    this.scheduleRecheck(sessionId, now + this.recheckMs);
    this.waitingSessionIds.add(sessionId);
    this.startRechecks();
  }

  private startRechecks(): void {
    if (this.isStopping || this.runningRechecks.size >= MAX_CONCURRENT_RECHECKS) return;
    const [sessionId] = this.waitingSessionIds;
    if (sessionId === undefined) return;
    this.waitingSessionIds.delete(sessionId);
    const recheck = this.recheck(sessionId)
      .catch((error: unknown) => this.log.warn('session could not be checked at the provider', { err: error }))
      .finally(() => {
        this.runningRechecks.delete(recheck);
        this.startRechecks();
      });
    this.runningRechecks.add(recheck);
  }

  private async recheck(sessionId: string): Promise<void> {
    const recheck = await this.claimRecheck(sessionId);
    if (recheck?.isDue === true) await this.askProvider(sessionId, recheck);
    else if (recheck !== null) this.scheduleRecheck(sessionId, recheck.askedAt.getTime() + this.recheckMs);
    else if (requireOidc(this.settings).groupsClaim !== null) await this.recheckGroups(sessionId);
    // This session needs no recheck: it has no refresh token to ask the provider with, and groups do not come from the provider.
    else this.scheduleRecheck(sessionId, Infinity);
  }

  /** Rechecks the account's memberships with a refresh token from any session of the account. Without one, the memberships expire. */
  private async recheckGroups(sessionId: string): Promise<void> {
    const renewable = await this.store.renewableSession(sessionId, requireOidc(this.settings).issuer, this.clock.now());
    if (renewable === null) return;
    const recheck = renewable.sessionId === null ? null : await this.claimRecheck(renewable.sessionId);
    if (renewable.sessionId === null || recheck === null) return this.people.endExpiredMemberships(renewable.userId);
    if (recheck.isDue && (await this.askProvider(renewable.sessionId, recheck)) === 'ended')
      await this.recheckGroups(sessionId);
  }

  private claimRecheck(sessionId: string): Promise<Recheck | null> {
    const now = this.clock.now();
    return this.store.claimRecheck(sessionId, new Date(now.getTime() - this.recheckMs), now);
  }

  /** Asks the provider whether a session goes on, and applies the answer. @returns null: the refresh token cannot be decrypted, or another provider issued it */
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
    // The new refresh token is stored before anything can fail, because the provider may refuse the former one from now on.
    const storedToken = await this.storeNextToken(sessionId, session.refreshToken, renewal.refreshToken);
    this.logSilence(renewal.kind === 'silent' ? renewal.reason : null);
    if (renewal.kind === 'silent' || renewal.claims === null) return;
    if (renewal.claims['sub'] !== session.subject) return this.endSession(sessionId, storedToken);
    // Without a live session no memberships are written: the account may have been unlinked meanwhile.
    const account = await this.sessions.accountOf({ id: sessionId, userId });
    if (account === null) return;
    // If the service is too busy to write the memberships, the next recheck writes them.
    const context = { actor: null, origin: null };
    await this.people.applyGroupsClaim(account, renewal.claims, context, { mustReport: false, validityMs: 0 });
  }

  /** Stores the next refresh token, unless a concurrent sign-in has replaced `formerToken`. */
  private async storeNextToken(sessionId: string, formerToken: string, nextToken: string | null): Promise<string> {
    if (nextToken === null) return formerToken;
    const sealedToken = this.seal.seal('refresh-token', nextToken);
    await this.store.replaceRefreshToken(sessionId, formerToken, sealedToken);
    return sealedToken;
  }

  /** Ends the session if it still has `refreshToken`. It has another one if the person has confirmed the session meanwhile. */
  private async endSession(sessionId: string, refreshToken: string): Promise<void> {
    await this.transaction.run(async () => {
      if (!(await this.store.replaceRefreshToken(sessionId, refreshToken, null))) return;
      await this.sessions.endProviderSessions([sessionId], 'recheck', null);
    });
  }

  /** Logs only the first of successive unusable answers. @param reason null: the answer was usable */
  private logSilence(reason: string | null): void {
    if (reason !== null && !this.wasProviderSilent)
      this.log.warn('session could not be checked at the provider', { reason });
    this.wasProviderSilent = reason !== null;
  }

  private scheduleRecheck(sessionId: string, recheckAt: number): void {
    this.nextRecheckAt.delete(sessionId);
    const [oldestId] = this.nextRecheckAt.keys();
    if (this.nextRecheckAt.size >= MAX_RECHECKS && oldestId !== undefined) this.nextRecheckAt.delete(oldestId);
    this.nextRecheckAt.set(sessionId, recheckAt);
  }

  private get recheckMs(): number {
    return requireOidc(this.settings).recheckMinutes * MINUTE_MS;
  }
}
