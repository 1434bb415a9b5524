import { type BeforeApplicationShutdown, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { take } from 'rxjs';
import { Log } from '../platform/log.js';
import { ServiceTokens } from './domain/service-tokens.js';
import { StatementClient } from './domain/statement-client.js';
import { EngineIdentity } from './engine-identity.service.js';
import { QueryDrivers } from './query-drivers.service.js';

/**
 * What runs beside requests, from start to stop: the token is kept fresh, the engine asked whom it sees, and queries
 * are driven. Only where there are requests: a command that borrows the modules for a moment drives nobody's query.
 */
@Injectable()
export class EngineLifecycle implements OnModuleInit, BeforeApplicationShutdown {
  private readonly stopping = new AbortController();
  private running: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly http: HttpAdapterHost,
    private readonly tokens: ServiceTokens,
    private readonly client: StatementClient,
    private readonly identity: EngineIdentity,
    private readonly drivers: QueryDrivers,
    private readonly log: Log,
  ) {}

  onModuleInit(): void {
    this.http.listen$.pipe(take(1)).subscribe(() => this.start());
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    await this.running;
    this.tokens.close();
    this.client.close();
  }

  /** The service waits for neither the engine nor the identity provider: their cure may need it. */
  private start(): void {
    const { signal } = this.stopping;
    const works = [this.tokens.keepFresh(signal), this.identity.watchStart(signal), this.drivers.run(signal)];
    this.running = Promise.all(works).catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : 'unknown';
      this.log.error('what runs beside requests has stopped', { reason });
    });
  }
}
