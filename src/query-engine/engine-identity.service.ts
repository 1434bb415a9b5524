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

/** `unknown`: the engine gave no answer, for reasons that have nothing to do with identity. */
export type Identity = 'confirmed' | 'mismatch' | 'unknown';

/** Milliseconds until the next check, because the engine may restart with another configuration. */
const CHECK_AGAIN = { confirmed: 60_000, mismatch: 20_000, unknown: 10_000 } as const;
/** Milliseconds for which a result is used if no check runs in the background. */
const VALID_FOR = 120_000;
/** Seconds for each statement of the check. */
const STATEMENT_TIMEOUT = 30;

/**
 * Checks whether the engine applies the user headers. An engine without `protocol.v1.alternate-header-name=Query` silently ignores
 * X-Query headers, and if it verifies tokens it would then run all SQL as the service account.
 */
@Injectable()
export class EngineIdentity {
  private latest: { identity: Identity; at: number } | null = null;
  private readonly ask = singleFlight(() => this.check());
  private stopping: AbortSignal | undefined;

  constructor(
    private readonly connections: EngineConnections,
    private readonly tokens: ServiceTokenSource,
    private readonly settings: Settings,
    private readonly timers: Timers,
    private readonly log: Log,
  ) {}

  /** False if the engine was found to run statements as another user. Unknown counts as true, because the statement will then fail. */
  async respectsUserHeaders(): Promise<boolean> {
    return (await this.usableResult()) !== 'mismatch';
  }

  /** The result of the last check; `unknown` before the first check. */
  get lastKnown(): Identity {
    return this.latest?.identity ?? 'unknown';
  }

  /** Seconds since the last check; null: there was none. */
  get age(): number | null {
    return this.latest === null ? null : (this.timers.now() - this.latest.at) / 1000;
  }

  /** Repeats the check until the signal is aborted. */
  async watch(signal: AbortSignal): Promise<void> {
    if (this.settings.engine.origin === null) return;
    this.stopping = signal;
    try {
      await this.checkToken(signal);
      while (!signal.aborted) await this.timers.wait(CHECK_AGAIN[await this.ask()], signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  private async usableResult(): Promise<Identity> {
    const { latest } = this;
    return latest !== null && this.timers.now() - latest.at < VALID_FOR ? latest.identity : this.ask();
  }

  private async check(): Promise<Identity> {
    const expected = this.settings.engine.user;
    const user = await this.readValue('SELECT current_user');
    const catalog =
      user === undefined ? undefined : await this.readValue('SELECT current_catalog', { catalog: 'system' });
    const { identity, reason } = judgeIdentity(expected, user, catalog, this.settings.engine.headerPrefix);
    if (identity === 'mismatch') this.log.error('ENGINE_IDENTITY_MISMATCH', { expected, seen: user ?? null, reason });
    this.latest = { identity, at: this.timers.now() };
    return identity;
  }

  /** The first value of a statement's result. Undefined: the engine did not answer. */
  private async readValue(sql: string, session: Partial<EngineSession> = {}): Promise<NativeValue | undefined> {
    try {
      const signal = this.stopping === undefined ? {} : { signal: this.stopping };
      const [row] = await this.connections.readRows(sql, { session, most: 1, timeout: STATEMENT_TIMEOUT, ...signal });
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
    const expected = { issuer, client, principal: user, audience };
    for (const { message, ...found } of tokenProblems(claims, expected)) this.log.error(message, found);
  }
}

/**
 * Whether the engine applies the user headers, by its answers to statements of the service itself.
 * @param user the value of `current_user`; undefined: no answer.
 * @param catalog the value of `current_catalog` for a header with `system`: null means that headers are not read, which `current_user`
 *   cannot show if the engine takes the user from the token.
 */
export function judgeIdentity(
  expected: string,
  user: NativeValue | undefined,
  catalog: NativeValue | undefined,
  prefix: string,
): { identity: Identity; reason: string | null } {
  if (typeof user !== 'string') return { identity: 'unknown', reason: null };
  if (user !== expected) return { identity: 'mismatch', reason: 'the engine runs statements as another user' };
  if (catalog === null) return { identity: 'mismatch', reason: `the engine does not read ${prefix} headers` };
  return { identity: 'confirmed', reason: null };
}
