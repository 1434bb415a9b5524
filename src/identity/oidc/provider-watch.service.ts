import { type BeforeApplicationShutdown, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Timers } from '../../kernel/clock.js';
import { HealthRegistry } from '../../platform/health.js';
import { IdentityProvider } from './domain/identity-provider.js';
import { OidcSettings } from './oidc-settings.js';

const CHECK_INTERVAL_MS = 60_000;

/** Asks the provider for its discovery document at the start and every minute, for health, so that an outage shows before people meet it. */
@Injectable()
export class ProviderWatchService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly stopping = new AbortController();
  private watching: Promise<void> = Promise.resolve();

  constructor(
    private readonly settings: OidcSettings,
    private readonly provider: IdentityProvider,
    private readonly timers: Timers,
    private readonly health: HealthRegistry,
  ) {}

  /** The service starts without waiting for the provider, and is ready without it: passwords and sessions do not need it. */
  onApplicationBootstrap(): void {
    if (!this.settings.isOn) return;
    this.health.register('sign_in_provider', () =>
      Promise.resolve(this.provider.isReachable() === false ? 'degraded' : 'up'),
    );
    this.watching = this.watch();
  }

  async beforeApplicationShutdown(): Promise<void> {
    if (!this.settings.isOn) return;
    this.stopping.abort();
    this.provider.close(); // a request under way ends
    await this.watching;
  }

  private async watch(): Promise<void> {
    await this.provider.probe();
    await this.timers.every(CHECK_INTERVAL_MS, this.stopping.signal, () => this.provider.probe());
  }
}
