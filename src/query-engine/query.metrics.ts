import { Injectable } from '@nestjs/common';
import { type Counter, type Gauge, Registry } from 'prom-client';
import { counter, gauge, liveGauge } from '../platform/operations/metrics.js';
import type { Ending } from './domain/query.js';
import { TOKEN_FAILURES, type TokenFailure, type TokenObserver } from './domain/service-token.js';
import type { EngineFaultKind } from './domain/engine-error.js';

/** Why a page was not fetched. `memory`: the pages in memory take QUERY_MAX_HELD_BYTES, so the page is fetched again later. */
export type PageFailure = EngineFaultKind | 'memory';

/** Metrics of the users' queries that this replica executes. */
@Injectable()
export class QueryMetrics {
  private readonly endingCounter: Counter<'state' | 'code'>;
  private readonly deliveredRows: Counter;
  private readonly pageFailureCounter: Counter<'reason'>;

  constructor(private readonly registry: Registry) {
    const endingsHelp = 'Queries that this replica ended, by `state` and error `code` (`none`: finished).';
    this.endingCounter = counter(registry, 'grantline_queries_ended_total', endingsHelp, 'state', 'code');
    this.deliveredRows = counter(registry, 'grantline_query_rows_delivered_total', 'Rows handed out, each once.');
    const failuresHelp =
      'Pages not fetched after all tries, by `reason`; `memory`: `QUERY_MAX_HELD_BYTES` are held, so it is fetched again later.';
    this.pageFailureCounter = counter(registry, 'grantline_query_page_failures_total', failuresHelp, 'reason');
  }

  /** Registers gauges of current values, which are read at each scrape. */
  exposeGauges(countRunning: () => number, countBytes: () => number, maxBytes: number): void {
    const { registry } = this;
    liveGauge(registry, 'grantline_queries_running', 'Queries that this replica executes.', countRunning);
    const heldHelp = 'Memory of result pages and answers that this replica holds.';
    liveGauge(registry, 'grantline_query_held_bytes', heldHelp, countBytes);
    liveGauge(registry, 'grantline_query_held_limit_bytes', '`QUERY_MAX_HELD_BYTES`.', () => maxBytes);
  }

  countEnding(ending: Ending): void {
    this.endingCounter.inc({ state: ending.state, code: ending.state === 'finished' ? 'none' : ending.error.code });
  }

  countRows(rowCount: number): void {
    this.deliveredRows.inc(rowCount);
  }

  countPageFailure(reason: PageFailure): void {
    this.pageFailureCounter.inc({ reason });
  }
}

export class ServiceTokenMetrics implements TokenObserver {
  private readonly expiryGauge: Gauge;
  private readonly renewals: Counter;
  private readonly failures: Counter<'reason'>;

  constructor(registry: Registry) {
    const expiryHelp =
      'When the service-account token expires; 0: none yet; only with `SERVICE_QUERY_JWT_ENABLED=true`.';
    this.expiryGauge = gauge(registry, 'grantline_service_token_expiry_timestamp_seconds', expiryHelp);
    const renewalsHelp = 'Service-account tokens that the identity provider gave.';
    this.renewals = counter(registry, 'grantline_service_token_renewals_total', renewalsHelp);
    const failuresHelp =
      'Requests for a token that gave none, by `reason`: `refused` (secret, client), `unavailable`, `invalid` (an answer without a token).';
    this.failures = counter(registry, 'grantline_service_token_failures_total', failuresHelp, 'reason');
    for (const reason of TOKEN_FAILURES) this.failures.inc({ reason }, 0); // so that the first failure counts as an increase
  }

  onRenewal(expiresAt: number): void {
    this.renewals.inc();
    this.expiryGauge.set(expiresAt / 1000);
  }

  onFailure(reason: TokenFailure): void {
    this.failures.inc({ reason });
  }
}
