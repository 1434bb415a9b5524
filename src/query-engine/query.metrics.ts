import { Injectable } from '@nestjs/common';
import { type Counter, type Gauge, Registry } from 'prom-client';
import { counter, gauge, liveGauge } from '../platform/operations/metrics.js';
import type { Ending } from './domain/query.js';
import { TOKEN_FAILURES, type TokenFailure, type TokenObserver } from './domain/service-token.js';
import type { EngineFaultKind } from './domain/engine-error.js';

/** Current values of this replica. */
interface Held {
  running: () => number;
  bytes: () => number;
  limitBytes: number;
}

/** `memory`: QUERY_MAX_HELD_BYTES are held, so the page is fetched again later. */
export type PageFailure = EngineFaultKind | 'memory';

/** Metrics of the users' queries that this replica executes. */
@Injectable()
export class QueryMetrics {
  private readonly endings: Counter<'state' | 'code'>;
  private readonly rows: Counter;
  private readonly pageFailures: Counter<'reason'>;

  constructor(private readonly registry: Registry) {
    const help = 'Queries that this replica ended, by `state` and error `code` (`none`: finished).';
    this.endings = counter(registry, 'grantline_queries_ended_total', help, 'state', 'code');
    this.rows = counter(registry, 'grantline_query_rows_delivered_total', 'Rows handed out, each once.');
    const failures =
      'Pages not fetched after all tries, by `reason`; `memory`: `QUERY_MAX_HELD_BYTES` are held, so it is fetched again later.';
    this.pageFailures = counter(registry, 'grantline_query_page_failures_total', failures, 'reason');
  }

  /** Registers gauges of current values, which are read at each scrape. */
  exposeHeld({ running, bytes, limitBytes }: Held): void {
    const { registry } = this;
    liveGauge(registry, 'grantline_queries_running', 'Queries that this replica executes.', running);
    const held = 'Memory of result pages and answers that this replica holds.';
    liveGauge(registry, 'grantline_query_held_bytes', held, bytes);
    liveGauge(registry, 'grantline_query_held_limit_bytes', '`QUERY_MAX_HELD_BYTES`.', () => limitBytes);
  }

  countEnding(ending: Ending): void {
    this.endings.inc({ state: ending.state, code: ending.state === 'finished' ? 'none' : ending.error.code });
  }

  countRows(rows: number): void {
    this.rows.inc(rows);
  }

  countPageFailure(reason: PageFailure): void {
    this.pageFailures.inc({ reason });
  }
}

/** Metrics of service-account tokens. */
export class ServiceTokenMetrics implements TokenObserver {
  private readonly expiry: Gauge;
  private readonly renewals: Counter;
  private readonly failures: Counter<'reason'>;

  constructor(registry: Registry) {
    const expiry = 'When the service-account token expires; 0: none yet; only with `SERVICE_QUERY_JWT_ENABLED=true`.';
    this.expiry = gauge(registry, 'grantline_service_token_expiry_timestamp_seconds', expiry);
    const renewed = 'Service-account tokens that the identity provider gave.';
    this.renewals = counter(registry, 'grantline_service_token_renewals_total', renewed);
    const failed =
      'Requests for a token that gave none, by `reason`: `refused` (secret, client), `unavailable`, `invalid` (an answer without a token).';
    this.failures = counter(registry, 'grantline_service_token_failures_total', failed, 'reason');
    for (const reason of TOKEN_FAILURES) this.failures.inc({ reason }, 0); // so that the first failure counts as an increase
  }

  onRenewal(expiresAt: number): void {
    this.renewals.inc();
    this.expiry.set(expiresAt / 1000);
  }

  onFailure(reason: TokenFailure): void {
    this.failures.inc({ reason });
  }
}
