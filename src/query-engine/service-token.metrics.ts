import type { Counter, Gauge, Registry } from 'prom-client';
import { counter, gauge } from '../platform/metrics.js';
import { TOKEN_FAILURES, type TokenFailure } from './domain/service-token.js';
import type { TokenObserver } from './domain/service-token-source.js';

/** Service-account tokens in Prometheus. */
export class ServiceTokenMetrics implements TokenObserver {
  private readonly expiry: Gauge;
  private readonly renewals: Counter;
  private readonly failures: Counter<'reason'>;

  constructor(registry: Registry) {
    const expiry = 'When the service-account token expires; 0: there was none yet.';
    this.expiry = gauge(registry, 'grantline_service_token_expiry_timestamp_seconds', expiry);
    const renewed = 'Service-account tokens that the identity provider gave.';
    this.renewals = counter(registry, 'grantline_service_token_renewals_total', renewed);
    const failed = 'Requests for a service-account token that gave none, by reason.';
    this.failures = counter(registry, 'grantline_service_token_failures_total', failed, 'reason');
    for (const reason of TOKEN_FAILURES) this.failures.inc({ reason }, 0); // so that the first failure is an increase
  }

  renewed(expiresAt: number): void {
    this.renewals.inc();
    this.expiry.set(expiresAt / 1000);
  }

  failed(reason: TokenFailure): void {
    this.failures.inc({ reason });
  }
}
