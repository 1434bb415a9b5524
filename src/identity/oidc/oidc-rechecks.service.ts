import { Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { SessionUsesService } from '../../auth/session-uses.service.js';
import { SessionsService } from '../../auth/sessions.service.js';
import { Clock, Timers } from '../../kernel/clock.js';
import { Log } from '../../platform/log.js';
import { Transaction } from '../../platform/transaction.js';
import { IdentityProvider, type Renewal } from './domain/identity-provider.js';
import { OidcStore, type Recheck } from './domain/oidc-store.js';
import { OidcGroupsService } from './oidc-groups.service.js';
import { OidcMetrics } from './oidc.metrics.js';
import { OidcSettings } from './oidc-settings.js';
import { SealService } from './seal.service.js';

const MINUTE_MS = 60_000;

/** Sessions that the provider is asked for at once: many come at nine o'clock. */
const MOST_AT_ONCE = 4;

/** Sessions that are remembered; of others the database is asked again. */
const MOST_KNOWN = 10_000;

/** Milliseconds for which a stop waits: what the provider answers may be the only refresh token that it still takes. */
const STOP_MS = 6_000;

/**
 * Asks the provider whether sessions that are in use go on: it tells nobody who has left. In the background, once for all replicas. Only
 * a clear no ends a session; silence leaves it to its limit.
 */
@Injectable()
export class OidcRechecksService implements OnModuleInit, OnModuleDestroy {
  /** By session: when it is looked at next, in milliseconds since 1970. */
  private readonly nextAt = new Map<string, number>();
  /** Once, however long the provider takes for those before. */
  private readonly waiting = new Set<string>();
  private readonly underWay = new Set<Promise<void>>();
  private isStopping = false;
  private isSilent = false;

  constructor(
    private readonly settings: OidcSettings,
    private readonly uses: SessionUsesService,
    private readonly provider: IdentityProvider,
    private readonly store: OidcStore,
    private readonly groups: OidcGroupsService,
    private readonly sessions: SessionsService,
    private readonly seal: SealService,
    private readonly transaction: Transaction,
    private readonly clock: Clock,
    private readonly timers: Timers,
    private readonly metrics: OidcMetrics,
    private readonly log: Log,
  ) {}

  onModuleInit(): void {
    if (this.settings.isOn) this.uses.listen((sessionId) => this.used(sessionId));
  }

  async onModuleDestroy(): Promise<void> {
    this.isStopping = true;
    await this.timers.atMost(STOP_MS, Promise.all(this.underWay));
  }

  private used(sessionId: string): void {
    const now = this.clock.now().getTime();
    if (now < (this.nextAt.get(sessionId) ?? 0)) return;
    this.lookAgain(sessionId, now + this.interval);
    this.waiting.add(sessionId);
    this.goOn();
  }

  private goOn(): void {
    if (this.isStopping || this.underWay.size >= MOST_AT_ONCE) return;
    const [sessionId] = this.waiting;
    if (sessionId === undefined) return;
    this.waiting.delete(sessionId);
    const recheck = this.recheck(sessionId)
      .catch((error: unknown) => this.log.warn('session could not be checked at the provider', { err: error }))
      .finally(() => {
        this.underWay.delete(recheck);
        this.goOn();
      });
    this.underWay.add(recheck);
  }

  private async recheck(sessionId: string): Promise<void> {
    const turn = await this.take(sessionId);
    if (turn?.isDue === true) await this.ask(sessionId, turn);
    else if (turn !== null) this.lookAgain(sessionId, turn.askedAt.getTime() + this.interval);
    else if (this.groups.areFollowed) await this.recheckGroups(sessionId);
    // Nobody can be asked about it, and nothing depends on it.
    else this.lookAgain(sessionId, Infinity);
  }

  /** Of the account of a session without a refresh token: another session's is asked by, and without one memberships end in time. */
  private async recheckGroups(sessionId: string): Promise<void> {
    const found = await this.store.standIn(sessionId, this.settings.given.issuer, this.clock.now());
    if (found === null) return;
    const turn = found.sessionId === null ? null : await this.take(found.sessionId);
    if (found.sessionId === null || turn === null) return this.groups.lapse(found.userId);
    // Where that ended it, there may be another one.
    if (turn.isDue && (await this.ask(found.sessionId, turn)) === 'ended') await this.recheckGroups(sessionId);
  }

  private take(sessionId: string): Promise<Recheck | null> {
    const now = this.clock.now();
    return this.store.takeRecheck(sessionId, new Date(now.getTime() - this.interval), now);
  }

  /** @returns null: the provider cannot be asked */
  private async ask(sessionId: string, turn: Recheck): Promise<Renewal['kind'] | null> {
    const { session } = turn;
    const refreshToken = this.seal.open('refresh-token', session.refreshToken);
    if (refreshToken === null || session.issuer !== this.settings.given.issuer) return null;
    const renewal = await this.provider.renew(refreshToken);
    await this.apply(renewal, sessionId, turn).finally(() => this.metrics.rechecked(renewal.kind));
    return renewal.kind;
  }

  private async apply(renewal: Renewal, sessionId: string, { userId, session }: Recheck): Promise<void> {
    if (renewal.kind === 'ended') return this.end(sessionId, session.refreshToken);
    // First: the provider may take the former one no longer.
    const kept = await this.keep(sessionId, session.refreshToken, renewal.refreshToken);
    this.noteSilence(renewal.kind === 'silent' ? renewal.reason : null);
    if (renewal.kind === 'silent' || renewal.claims === null) return;
    if (renewal.claims['sub'] !== session.subject) return this.end(sessionId, kept);
    // Meanwhile it may have been ended, and its groups left, by who unlinked the account.
    const account = await this.sessions.accountOf({ id: sessionId, userId });
    // Too busy: at the next recheck.
    const by = { actor: null, origin: null };
    if (account !== null) await this.groups.follow(account, renewal.claims, by, { isReported: false, heldMs: 0 });
  }

  /** @returns the sealed token that the session has now, unless another sign-in has replaced it */
  private async keep(sessionId: string, former: string, next: string | null): Promise<string> {
    if (next === null) return former;
    const sealed = this.seal.seal('refresh-token', next);
    await this.store.replaceRefreshToken(sessionId, former, sealed);
    return sealed;
  }

  /** Unless its person has proved once more who it is meanwhile. */
  private async end(sessionId: string, refreshToken: string): Promise<void> {
    await this.transaction.run(async () => {
      if (!(await this.store.replaceRefreshToken(sessionId, refreshToken, null))) return;
      await this.sessions.endVouched([sessionId], 'recheck', null);
    });
  }

  /** Once, however many sessions there are. */
  private noteSilence(reason: string | null): void {
    if (reason !== null && !this.isSilent) this.log.warn('session could not be checked at the provider', { reason });
    this.isSilent = reason !== null;
  }

  private lookAgain(sessionId: string, at: number): void {
    this.nextAt.delete(sessionId);
    const [oldest] = this.nextAt.keys();
    if (this.nextAt.size >= MOST_KNOWN && oldest !== undefined) this.nextAt.delete(oldest);
    this.nextAt.set(sessionId, at);
  }

  private get interval(): number {
    return this.settings.given.recheckMinutes * MINUTE_MS;
  }
}
