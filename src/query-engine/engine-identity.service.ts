import { Injectable } from '@nestjs/common';
import { singleFlight } from '../kernel/promises.js';
import { Timers } from '../kernel/clock.js';
import { Log } from '../platform/log/log.js';
import { Settings } from '../platform/settings/settings.js';
import { DbApiError } from './domain/db-api-errors.js';
import type { EngineSession } from './domain/engine-session.js';
import type { NativeValue } from './domain/engine-value.js';
import { ServiceTokenSource, TokenUnavailable } from './domain/service-token.js';
import { readClaims, tokenProblems } from './domain/token-claims.js';
import { EngineConnections } from './engine-connections.service.js';

/** Result of the check. `unknown`: the engine gave no answer, for reasons that have nothing to do with identity. */
export type Identity = 'confirmed' | 'mismatch' | 'unknown';

/** Milliseconds until the next check, by the result of the last one. Checks are repeated, because the engine may restart with other settings. */
const RECHECK_INTERVALS = { confirmed: 60_000, mismatch: 20_000, unknown: 10_000 } as const;
/** Milliseconds for which a result is used. A process that runs `watch` replaces results sooner. */
const RESULT_LIFETIME = 120_000;
/** Seconds for each statement of the check. */
const STATEMENT_TIMEOUT = 30;

/**
 * Checks whether the engine applies the user headers. An engine without `protocol.v1.alternate-header-name=Query` silently ignores
 * X-Query headers, and if it verifies tokens it would then run all SQL as the service account.
 */
@Injectable()
export class EngineIdentity {
  private latestCheck: { identity: Identity; checkedAt: number } | null = null;
  private readonly checkOnce = singleFlight(() => this.checkIdentity());
  private stopSignal: AbortSignal | undefined;

  constructor(
    private readonly connections: EngineConnections,
    private readonly tokens: ServiceTokenSource,
    private readonly settings: Settings,
    private readonly timers: Timers,
    private readonly log: Log,
  ) {}

  /** False if the engine was found to ignore the user headers. `unknown` counts as true: an engine that does not answer runs no statement. */
  async respectsUserHeaders(): Promise<boolean> {
    const { latestCheck } = this;
    const isUsable = latestCheck !== null && this.timers.now() - latestCheck.checkedAt < RESULT_LIFETIME;
    return (isUsable ? latestCheck.identity : await this.checkOnce()) !== 'mismatch';
  }

  /** The result of the last check; `unknown` before the first check. */
  get latestIdentity(): Identity {
    return this.latestCheck?.identity ?? 'unknown';
  }

  /** Seconds since the last check; null: there was none. */
  get checkAge(): number | null {
    return this.latestCheck === null ? null : (this.timers.now() - this.latestCheck.checkedAt) / 1000;
  }

  /** Repeats the check until the signal is aborted. */
  async watch(signal: AbortSignal): Promise<void> {
    if (this.settings.engine.origin === null) return;
    this.stopSignal = signal;
    try {
      await this.checkToken(signal);
      while (!signal.aborted) await this.timers.wait(RECHECK_INTERVALS[await this.checkOnce()], signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  private async checkIdentity(): Promise<Identity> {
    const expected = this.settings.engine.user;
    const user = await this.readValue('SELECT current_user');
    const catalog =
      user === undefined ? undefined : await this.readValue('SELECT current_catalog', { catalog: 'system' });
    const { identity, reason } = judgeIdentity(expected, user, catalog, this.settings.engine.headerPrefix);
    if (identity === 'mismatch') this.log.error('ENGINE_IDENTITY_MISMATCH', { expected, seen: user ?? null, reason });
    this.latestCheck = { identity, checkedAt: this.timers.now() };
    return identity;
  }

  /** The first value of a statement's result. Undefined: the statement failed, or its result is empty. */
  private async readValue(sql: string, session: Partial<EngineSession> = {}): Promise<NativeValue | undefined> {
    try {
      const limits = { maxRows: 1, timeout: STATEMENT_TIMEOUT, ...(this.stopSignal && { signal: this.stopSignal }) };
      const [row] = await this.connections.readRows(sql, { session, ...limits });
      return row?.[0];
    } catch (error) {
      if (!(error instanceof DbApiError)) throw error;
      this.log.warn('engine identity check failed', { reason: error.message });
      return undefined;
    }
  }

  /** Logs problems of the settings that the token's claims reveal. */
  private async checkToken(signal: AbortSignal): Promise<void> {
    const { user, jwt } = this.settings.engine;
    if (jwt === null) return;
    const token = await this.tokens.validToken(null, signal).catch((error: unknown) => {
      if (error instanceof TokenUnavailable) return null;
      throw error;
    });
    const claims = token === null ? null : readClaims(token);
    if (claims === null) return;
    const { issuerUrl: issuer, clientId: client, audience } = jwt;
    const expectedClaims = { issuer, client, principal: user, audience };
    for (const { message, ...problem } of tokenProblems(claims, expectedClaims)) this.log.error(message, problem);
  }
}

/**
 * Judges whether the engine applies the user headers, by its answers to two statements of the service account.
 * @param user the value of `current_user`, which should be `expectedUser`; undefined: no answer.
 * @param catalog the value of `current_catalog` for a request with the catalog header `system`. Null: the engine does not read headers.
 *   The user alone proves nothing, because it may come from the token.
 */
export function judgeIdentity(
  expectedUser: string,
  user: NativeValue | undefined,
  catalog: NativeValue | undefined,
  headerPrefix: string,
): { identity: Identity; reason: string | null } {
  if (typeof user !== 'string') return { identity: 'unknown', reason: null };
  if (user !== expectedUser) return { identity: 'mismatch', reason: 'the engine runs statements as another user' };
  if (catalog === null) return { identity: 'mismatch', reason: `the engine does not read ${headerPrefix} headers` };
  return { identity: 'confirmed', reason: null };
}
