import { Injectable } from '@nestjs/common';
import { Counter, Gauge, Registry } from 'prom-client';
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
    const registers = [registry];
    this.endings = new Counter({
      name: 'grantline_queries_ended_total',
      help: 'Queries that this replica ended, by state and error code.',
      labelNames: ['state', 'code'],
      registers,
    });
    this.rows = new Counter({
      name: 'grantline_query_rows_delivered_total',
      help: 'Rows handed out to their readers.',
      registers,
    });
    this.pageFailures = new Counter({
      name: 'grantline_query_page_failures_total',
      help: 'Pages that could not be fetched from the engine after all retries, by reason.',
      labelNames: ['reason'],
      registers,
    });
  }

  /** Shows what is held whenever the metrics are read. */
  expose({ running, bytes, limitBytes }: Held): void {
    this.gauge('grantline_queries_running', 'Queries that this replica executes.', running);
    this.gauge('grantline_query_held_bytes', 'Memory of result pages and answers that this replica holds.', bytes);
    this.gauge('grantline_query_held_limit_bytes', 'QUERY_MAX_HELD_BYTES.', () => limitBytes);
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

  private gauge(name: string, help: string, value: () => number): void {
    new Gauge({
      name,
      help,
      registers: [this.registry],
      collect() {
        this.set(value());
      },
    });
  }
}
