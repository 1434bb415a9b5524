import { Injectable } from '@nestjs/common';
import { Log } from '../platform/log.js';
import { Settings } from '../platform/settings.js';
import type { NativeValue } from './domain/engine-value.js';
import { DbApiError } from './domain/db-api-errors.js';
import { judgeIdentity, type Identity } from './domain/engine-identity.js';
import { Pace } from '../kernel/pace.js';
import { readClaims } from './domain/service-token.js';
import { ServiceTokens, TokenUnavailable } from './domain/service-tokens.js';
import { type ConnectOptions, EngineConnections } from './engine-connections.service.js';

/** Milliseconds for which an answer counts; an engine may come back with another configuration. */
const GOOD_FOR = { confirmed: 300_000, mismatch: 30_000, unknown: 30_000 } as const;
const BETWEEN_TRIES = 10_000;
/** Seconds. */
const STATEMENT_TIMEOUT = 30;

/**
 * Whether the engine sees whom the headers name. An engine without `protocol.v1.alternate-header-name=Query` ignores
 * X-Query headers in silence; in verified mode everybody's SQL would then run as the service account.
 */
@Injectable()
export class EngineIdentity {
  private latest: { identity: Identity; at: number } | null = null;
  private checking: Promise<Identity> | null = null;
  private stopping: AbortSignal | undefined;

  constructor(
    private readonly connections: EngineConnections,
    private readonly tokens: ServiceTokens,
    private readonly settings: Settings,
    private readonly pace: Pace,
    private readonly log: Log,
  ) {}

  /** False once the engine was seen to take people for somebody else. Unclear is not false: then the statement tells. */
  async letsPeopleBeThemselves(): Promise<boolean> {
    return (await this.current()) !== 'mismatch';
  }

  /** What the engine said last; an engine that has not said anything yet is unknown. */
  get lastKnown(): Identity {
    return this.latest?.identity ?? 'unknown';
  }

  /** At the start: asks until the engine has said whom it sees, or the signal is aborted. */
  async watchStart(signal: AbortSignal): Promise<void> {
    if (this.settings.engine.origin === null) return;
    this.stopping = signal;
    try {
      await this.checkToken(signal);
      while ((await this.current()) === 'unknown') await this.pace.wait(BETWEEN_TRIES, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  private async current(): Promise<Identity> {
    const { latest } = this;
    if (latest !== null && this.pace.now() - latest.at < GOOD_FOR[latest.identity]) return latest.identity;
    this.checking ??= this.check().finally(() => {
      this.checking = null;
    });
    return this.checking;
  }

  private async check(): Promise<Identity> {
    const expected = this.settings.engine.user;
    const user = await this.ask('SELECT current_user');
    const catalog = user === undefined ? undefined : await this.ask('SELECT current_catalog', { catalog: 'system' });
    const { identity, reason } = judgeIdentity(expected, user, catalog, this.settings.engine.headerPrefix);
    if (identity === 'mismatch') this.log.error('ENGINE_IDENTITY_MISMATCH', { expected, seen: user ?? null, reason });
    this.latest = { identity, at: this.pace.now() };
    return identity;
  }

  /** Undefined: the engine did not say. */
  private async ask(sql: string, session: ConnectOptions = {}): Promise<NativeValue | undefined> {
    const connection = this.connections.connect(session);
    try {
      const cursor = connection.cursor();
      const signal = this.stopping === undefined ? {} : { signal: this.stopping };
      await cursor.execute(sql, [], { timeout: STATEMENT_TIMEOUT, ...signal });
      return (await cursor.fetchOne())?.[0];
    } catch (error) {
      if (!(error instanceof DbApiError)) throw error;
      this.log.warn('the engine did not say whom it sees', { reason: error.message });
      return undefined;
    } finally {
      await connection.close();
    }
  }

  /** What the token says about itself, against the settings: a client of the wrong name or without its audience. */
  private async checkToken(signal: AbortSignal): Promise<void> {
    const { user, jwt } = this.settings.engine;
    const token = await this.tokens.current(signal).catch((error: unknown) => {
      if (error instanceof TokenUnavailable) return null;
      throw error;
    });
    const claims = token === null ? null : readClaims(token);
    if (claims === null) return;
    if (claims.principal !== null && claims.principal !== user) {
      const reason = 'preferred_username of the service-account token is not SERVICE_QUERY_USER';
      this.log.error('ENGINE_IDENTITY_MISMATCH', { expected: user, seen: claims.principal, reason });
    }
    const audience = jwt?.audience ?? null;
    if (audience !== null && !claims.audience.includes(audience)) {
      this.log.error('service-account token lacks the audience', { expected: audience, seen: claims.audience });
    }
  }
}
