import { Injectable } from '@nestjs/common';
import { Registry } from 'prom-client';
import { Clock, Timers } from '../../kernel/clock.js';
import { gaugeOf } from '../../platform/operations/metrics.js';
import { Settings } from '../../platform/settings/settings.js';
import { ApiTokenStore } from './api-token.store.js';
import { DAY_MS } from './domain/api-token.js';

const UNUSED_DAYS = 90;
/** In milliseconds: a database that does not answer keeps no scrape waiting for longer than its health does. */
const DEADLINE = 2_000;

/** The figure of API tokens that alerts use. */
@Injectable()
export class ApiTokensMetrics {
  constructor(
    registry: Registry,
    private readonly store: ApiTokenStore,
    private readonly settings: Settings,
    private readonly clock: Clock,
    private readonly timers: Timers,
  ) {
    const help =
      'API tokens of administrators that were not used for 90 days, or expire later than AUTH_TOKEN_MAX_DAYS from now.';
    gaugeOf(registry, 'grantline_stale_administrator_tokens', help, () => this.stale());
  }

  /** NaN while the database does not answer, since 0 would say that no token is stale. */
  private async stale(): Promise<number> {
    const now = this.clock.now();
    const unusedSince = new Date(now.getTime() - UNUSED_DAYS * DAY_MS);
    const latestExpiry = new Date(now.getTime() + this.settings.auth.tokenMaxDays * DAY_MS);
    let stale = Number.NaN;
    const counting = this.store.staleOfAdministrators(now, unusedSince, latestExpiry);
    const counted = counting.then((count) => (stale = count));
    await this.timers.atMost(DEADLINE, counted).catch(() => undefined);
    return stale;
  }
}
