import type { OnApplicationShutdown } from '@nestjs/common';
import type { Gauge, Registry } from 'prom-client';
import type { DataSource } from 'typeorm';
import { Clock, type Timers } from '../../kernel/clock.js';
import type { Log } from '../log/log.js';
import { gauge } from '../operations/metrics.js';

const ALIGN_EVERY_MS = 60_000;
/** The least offset of the machine's clock that is logged. */
const WORTH_A_WARNING_MS = 5_000;

export interface ClockParts {
  source: Pick<DataSource, 'query'>;
  timers: Timers;
  log: Log;
  registry: Registry;
  /** The machine's own clock, whose offset is measured. */
  machine: Clock;
}

/**
 * The database's clock, read every minute and continued in between by monotonic time. So all replicas judge shared times (expiries,
 * sessions, leases, windows) by one clock, however wrong a machine's clock is.
 */
export class DatabaseClock extends Clock implements OnApplicationShutdown {
  private readonly stopping = new AbortController();
  private readonly offset: Gauge;
  private epoch = 0;
  private hasWarned = false;

  private constructor(private readonly parts: ClockParts) {
    super();
    const help = "How far this machine's clock is ahead of the database's, which alone counts.";
    this.offset = gauge(parts.registry, 'grantline_clock_offset_seconds', help);
  }

  /** @throws if the database cannot be reached, because the first reading is required. */
  static async createAligned(parts: ClockParts): Promise<DatabaseClock> {
    const clock = new DatabaseClock(parts);
    await clock.align();
    // Time continues from the last successful reading if one fails.
    void parts.timers.repeat(ALIGN_EVERY_MS, clock.stopping.signal, () => clock.align().catch(() => undefined));
    return clock;
  }

  override now(): Date {
    return new Date(this.epoch + this.parts.timers.now());
  }

  onApplicationShutdown(): void {
    this.stopping.abort();
  }

  /** Reads the database's time, and assigns it to the middle of the call, so that the error is at most half the call. */
  async align(): Promise<void> {
    const { source, timers, machine, log } = this.parts;
    const asked = timers.now();
    const [{ now }] = await source.query<[{ now: number }]>(
      'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now',
    );
    this.epoch = now - (asked + timers.now()) / 2;
    const offset = machine.now().getTime() - this.now().getTime();
    this.offset.set(offset / 1000);
    const isFarOff = Math.abs(offset) > WORTH_A_WARNING_MS;
    if (isFarOff && !this.hasWarned) {
      log.warn("this machine's clock differs from the database's", { offset_seconds: offset / 1000 });
    }
    this.hasWarned = isFarOff;
  }
}
