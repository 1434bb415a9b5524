import type { OnApplicationShutdown } from '@nestjs/common';
import type { Gauge, Registry } from 'prom-client';
import type { DataSource } from 'typeorm';
import { Clock, type Timers } from '../../kernel/clock.js';
import type { Log } from '../log/log.js';
import { gauge } from '../operations/metrics.js';

const ALIGN_INTERVAL_MS = 60_000;
/** The least offset of the machine's clock from the database's clock that is logged. */
const MIN_LOGGED_OFFSET_MS = 5_000;

export interface ClockDependencies {
  source: Pick<DataSource, 'query'>;
  timers: Timers;
  log: Log;
  registry: Registry;
  /** The machine's own clock, whose offset is measured. */
  machineClock: Clock;
}

/**
 * The database's clock, read every minute and continued in between by monotonic time. Thus all replicas judge shared times (expiries,
 * sessions, leases, windows) by one clock, even if a machine's clock is wrong.
 */
export class DatabaseClock extends Clock implements OnApplicationShutdown {
  private readonly stopController = new AbortController();
  private readonly offsetGauge: Gauge;
  private databaseTimeAtZero = 0;
  private hasWarned = false;

  private constructor(private readonly dependencies: ClockDependencies) {
    super();
    const help = "How far this machine's clock is ahead of the database's, which alone counts.";
    this.offsetGauge = gauge(dependencies.registry, 'grantline_clock_offset_seconds', help);
  }

  /** Creates a clock with a first reading of the database's time. @throws Error if the database cannot be reached */
  static async createAligned(dependencies: ClockDependencies): Promise<DatabaseClock> {
    const clock = new DatabaseClock(dependencies);
    await clock.readTime();
    // If a reading fails, time continues from the last successful reading.
    const { signal } = clock.stopController;
    void dependencies.timers.repeat(ALIGN_INTERVAL_MS, signal, () => clock.readTime().catch(() => undefined));
    return clock;
  }

  override now(): Date {
    return new Date(this.databaseTimeAtZero + this.dependencies.timers.now());
  }

  onApplicationShutdown(): void {
    this.stopController.abort();
  }

  /** Reads the database's time. It counts as the time in the middle of the query, so that the error is at most half the query's duration. */
  async readTime(): Promise<void> {
    const { source, timers, machineClock, log } = this.dependencies;
    const startedAt = timers.now();
    const [{ now }] = await source.query<[{ now: number }]>(
      'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now',
    );
    this.databaseTimeAtZero = now - (startedAt + timers.now()) / 2;
    const offsetMs = machineClock.now().getTime() - this.now().getTime();
    this.offsetGauge.set(offsetMs / 1000);
    const isOffsetLarge = Math.abs(offsetMs) > MIN_LOGGED_OFFSET_MS;
    if (isOffsetLarge && !this.hasWarned) {
      log.warn("this machine's clock differs from the database's", { offset_seconds: offsetMs / 1000 });
    }
    this.hasWarned = isOffsetLarge;
  }
}
