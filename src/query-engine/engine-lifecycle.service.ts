import {
  type BeforeApplicationShutdown,
  Injectable,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { Registry } from 'prom-client';
import { take } from 'rxjs';
import { HealthRegistry } from '../platform/operations/health.js';
import { Log } from '../platform/log/log.js';
import { liveGauge } from '../platform/operations/metrics.js';
import { Settings } from '../platform/settings/settings.js';
import { ServiceTokenSource } from './domain/service-token.js';
import { TrinoStatementClient } from './trino-statement-client.js';
import { EngineIdentity } from './engine-identity.service.js';
import { QueryExecutions } from './query-executions.service.js';
import { RowStreams } from './row-streams.service.js';

/**
 * Starts and stops the background work: renewing the token, checking the user headers, executing queries. Runs only in a process that
 * serves requests, and not in commands that use these modules.
 */
@Injectable()
export class EngineLifecycle implements OnModuleInit, BeforeApplicationShutdown, OnApplicationShutdown {
  private readonly stopController = new AbortController();
  private backgroundWork: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly http: HttpAdapterHost,
    private readonly tokens: ServiceTokenSource,
    private readonly client: TrinoStatementClient,
    private readonly engineIdentity: EngineIdentity,
    private readonly executions: QueryExecutions,
    private readonly streams: RowStreams,
    private readonly health: HealthRegistry,
    private readonly metrics: Registry,
    private readonly settings: Settings,
    private readonly log: Log,
  ) {}

  onModuleInit(): void {
    if (this.settings.engine.origin !== null) this.registerHealth();
    this.http.listen$.pipe(take(1)).subscribe(() => this.startBackgroundWork());
  }

  /** Ends the background work and the streams of rows. A stream must be ended, because its reader might never read the rest. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stopController.abort();
    await Promise.all([this.backgroundWork, this.streams.stop()]);
  }

  /** Closes connections. Requests in progress have been answered by now. */
  onApplicationShutdown(): void {
    this.tokens.close();
    this.client.close();
  }

  /** Registers the health of the engine and of the identity provider. This service stays ready without them, because it may be needed to repair them. */
  private registerHealth(): void {
    const { engineIdentity: identity, metrics } = this;
    const isConfirmed = (): boolean => identity.latestIdentity === 'confirmed';
    this.health.register(
      'engine',
      () => Promise.resolve(isConfirmed() ? 'up' : 'degraded'),
      () => identity.checkAge,
    );
    const confirmedHelp = '1: the engine sees the user that the service names; only with `SERVICE_QUERY_HOST`.';
    liveGauge(metrics, 'grantline_engine_identity_confirmed', confirmedHelp, () => Number(isConfirmed()));
    const mismatchHelp =
      '1: the engine runs statements as another user, or reads no user headers: no SQL of people is run.';
    const isMismatch = (): boolean => identity.latestIdentity === 'mismatch';
    liveGauge(metrics, 'grantline_engine_identity_mismatch', mismatchHelp, () => Number(isMismatch()));
    const ageHelp = 'Since the engine was asked which user it sees: every 60 s, after trouble every 10 to 20 s.';
    liveGauge(metrics, 'grantline_engine_identity_age_seconds', ageHelp, () => identity.checkAge ?? Number.NaN);
    this.health.register('identity_provider', () => Promise.resolve(this.tokens.isValid() ? 'up' : 'degraded'));
  }

  /** Starts the background work without waiting for the engine or the provider. */
  private startBackgroundWork(): void {
    const { signal } = this.stopController;
    const tasks = [this.tokens.keepFresh(signal), this.engineIdentity.watch(signal), this.executions.run(signal)];
    this.backgroundWork = Promise.all(tasks).catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : 'unknown';
      this.log.error('background work has stopped', { reason });
    });
  }
}
