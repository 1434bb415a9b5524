import { Gauge, type Registry } from 'prom-client';
import type { HealthReport } from '../health.js';
import { gaugeOf } from '../metrics.js';

/** Shows in the metrics what `/health/ready` answers, asked anew for each scrape: alerts cannot see probes. */
export function exposeHealth(registry: Registry, report: () => Promise<HealthReport>): void {
  const ready = 'Whether this replica takes requests (1), or a part that it needs is down (0).';
  gaugeOf(registry, 'grantline_ready', ready, async () => ((await report()).status === 'down' ? 0 : 1));
  new Gauge({
    name: 'grantline_degraded',
    help: 'Whether a part of this replica or a neighbour that it needs is degraded or down (1), or well (0).',
    labelNames: ['part'],
    registers: [registry],
    async collect() {
      for (const [part, health] of Object.entries((await report()).parts)) this.set({ part }, health === 'up' ? 0 : 1);
    },
  });
}
