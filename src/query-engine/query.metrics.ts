import { Injectable } from '@nestjs/common';
import { type Counter, Registry } from 'prom-client';
import { counter, gaugeOf } from '../platform/metrics.js';
import type { Ending } from './domain/query.js';
import type { EngineFaultKind } from './domain/statement-client.js';

/** Current values of this replica. */
interface Held {
  running: () => number;
  bytes: () => number;
  limitBytes: number;
}

/** `memory`: QUERY_MAX_HELD_BYTES are held, so the page is fetched again later. */
export type PageFailure = EngineFaultKind | 'memory';

/** People's queries in Prometheus, as far as this replica executes them. */
@Injectable()
export class QueryMetrics {
  private readonly endings: Counter<'state' | 'code'>;
  private readonly rows: Counter;
  private readonly pageFailures: Counter<'reason'>;

  constructor(private readonly registry: Registry) {
    const ended = 'Queries that this replica ended, by state and error code.';
    this.endings = counter(registry, 'grantline_queries_ended_total', ended, 'state', 'code');
    this.rows = counter(registry, 'grantline_query_rows_delivered_total', 'Rows handed out to their readers.');
    const failures = 'Pages that could not be fetched from the engine after all retries, by reason.';
    this.pageFailures = counter(registry, 'grantline_query_page_failures_total', failures, 'reason');
  }

  /** Shows what is held whenever the metrics are read. */
  expose({ running, bytes, limitBytes }: Held): void {
    const { registry } = this;
    gaugeOf(registry, 'grantline_queries_running', 'Queries that this replica executes.', running);
    const held = 'Memory of result pages and answers that this replica holds.';
    gaugeOf(registry, 'grantline_query_held_bytes', held, bytes);
    gaugeOf(registry, 'grantline_query_held_limit_bytes', 'QUERY_MAX_HELD_BYTES.', () => limitBytes);
  }

  ended(ending: Ending): void {
    this.endings.inc({ state: ending.state, code: ending.state === 'finished' ? 'none' : ending.error.code });
  }

  delivered(rows: number): void {
    this.rows.inc(rows);
  }

  pageFailed(reason: PageFailure): void {
    this.pageFailures.inc({ reason });
  }
}
