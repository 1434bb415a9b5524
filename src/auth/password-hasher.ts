import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Piscina } from 'piscina';
import { type Counter, Histogram, Registry } from 'prom-client';
import { Refused } from '../kernel/errors.js';
import { FairQueue, type Place } from '../kernel/fair-queue.js';
import { HealthRegistry, type Health } from '../platform/operations/health.js';
import { counter, liveGauge } from '../platform/operations/metrics.js';
import { Settings } from '../platform/settings/settings.js';
import type work from './password.worker.js';
import { countedAddress } from './throttle.store.js';

/** Hashing operations for admitted work, which must call one at a time. */
export interface Hashing {
  /** A hash of the configured cost. */
  hash(password: string): Promise<string>;
  /** With `hash` null, for an unknown account, the same work is done and the answer is false. */
  matches(password: string, hash: string | null): Promise<boolean>;
}

/**
 * Hashes and compares passwords by bcryptjs in worker threads, one for each core. A hash takes about 250 ms on purpose. The pool gets
 * no more tasks than it has threads, and FairQueue decides which is next.
 */
@Injectable()
export class PasswordHasher implements OnApplicationShutdown {
  private readonly pool: Piscina<Parameters<typeof work>[0], ReturnType<typeof work>>;
  /** Resolves when the threads have loaded their program: Node aborts when a thread ends while it requires an ES module. */
  private readonly loaded: Promise<unknown>;
  private readonly waited: Histogram;
  private readonly turnedAway: Counter;
  private readonly cost: number;
  private readonly places: number;
  private readonly queue: FairQueue;
  /** A moving average of the time of one hash. Reading the pool's own histogram would take a quarter of a millisecond. */
  private typicalMs = 0;

  constructor(settings: Settings, metrics: Registry, health: HealthRegistry) {
    this.cost = settings.auth.bcryptCost;
    this.pool = new Piscina({
      filename: new URL('./password.worker.js', import.meta.url).href,
      minThreads: availableParallelism(),
      maxThreads: availableParallelism(),
      // On Linux priorities are per thread, so requests without a hash go first, also during many logins.
      niceIncrement: 19,
    });
    this.loaded = Promise.allSettled(this.pool.threads.map((thread) => once(thread, 'message')));
    this.places = this.pool.maxThreads + settings.auth.hashQueueMax;
    this.queue = new FairQueue(this.pool.maxThreads, this.places);
    health.register('password hashing', () => Promise.resolve(this.health()));
    const waiting = 'Passwords that wait for a hashing thread.';
    liveGauge(metrics, 'grantline_password_hash_queue_length', waiting, () => this.queue.waiting);
    this.waited = new Histogram({
      name: 'grantline_password_hash_wait_seconds',
      help: 'How long passwords waited for a hashing thread.',
      buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
      registers: [metrics],
    });
    const turnedAway = 'Passwords that were not hashed because too many waited already.';
    this.turnedAway = counter(metrics, 'grantline_password_hash_turned_away_total', turnedAway);
  }

  /**
   * Runs work that needs hashes if there is a place for it: there is one place for each hashing thread, and a bounded number for
   * waiting requests. FairQueue shares places and threads fairly between addresses.
   * @throws Refused `busy` when no place is left for the address, or when `signal` is aborted because the client has gone
   */
  async admit<T>(address: string, signal: AbortSignal, work: (hashing: Hashing) => Promise<T>): Promise<T> {
    const place = this.queue.enter(countedAddress(address));
    if (place === null) throw this.refuseBusy();
    const { cost } = this;
    try {
      return await work({
        hash: async (password) => String(await this.run({ password, cost }, place, signal)),
        matches: async (password, hash) => (await this.run({ password, cost, hash }, place, signal)) === true,
      });
    } finally {
      this.queue.leave(place);
    }
  }

  /** Whether a hash has the configured cost; if not, it is replaced when the password is presented next. */
  isCurrent(hash: string): boolean {
    return Number(hash.slice(4, 6)) === this.cost;
  }

  /** Ends the pool only after the server has stopped, because sign-ins in progress need it (onModuleDestroy would be too early). */
  async onApplicationShutdown(): Promise<void> {
    await this.loaded;
    await this.pool.destroy();
  }

  /** A hash that has begun is finished even if the client has gone, because aborting it would end its thread. */
  private async run(task: Parameters<typeof work>[0], place: Place, signal: AbortSignal): Promise<string | boolean> {
    const asked = performance.now();
    const acquisition = await this.queue.acquire(place, signal);
    if (acquisition === 'displaced') throw this.refuseBusy();
    if (acquisition === 'aborted') throw new Refused('busy', { detail: 'The client went away.' });
    try {
      const { result, ms } = await this.pool.run(task);
      this.waited.observe((performance.now() - asked - ms) / 1000);
      this.typicalMs = this.typicalMs === 0 ? ms : 0.9 * this.typicalMs + 0.1 * ms;
      return result;
    } finally {
      this.queue.release(place);
    }
  }

  /** The refusal, with the estimated seconds until all admitted hashes are done. */
  private refuseBusy(): Refused {
    this.turnedAway.inc();
    const seconds = Math.ceil((this.queue.taken * this.typicalMs) / this.pool.maxThreads / 1000);
    return new Refused('busy', { retryAfter: seconds || 1 });
  }

  /** Without free places the hasher is only degraded: some sign-ins are refused, but a replica that is not ready would refuse all. */
  private health(): Health {
    if (this.pool.threads.length === 0) return 'down';
    return this.queue.taken >= this.places ? 'degraded' : 'up';
  }
}
