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
import { addressKey } from './throttle.store.js';

/** Hashing operations for a request that `PasswordHasher.admit` let in. The request must await each call before the next one. */
export interface Hashing {
  hash(password: string): Promise<string>;
  /** @param hash null: the account is unknown; the result is then false after the same amount of work */
  matches(password: string, hash: string | null): Promise<boolean>;
}

/**
 * Hashes and compares passwords by bcryptjs in worker threads, one for each core. A hash takes about 250 ms on purpose. The pool never
 * gets more tasks than it has threads; FairQueue chooses the next task.
 */
@Injectable()
export class PasswordHasher implements OnApplicationShutdown {
  private readonly pool: Piscina<Parameters<typeof work>[0], ReturnType<typeof work>>;
  /** Resolves when the threads have loaded their program. Shutdown awaits it: Node aborts when a thread ends while it requires an ES module. */
  private readonly threadsLoaded: Promise<unknown>;
  private readonly waitSeconds: Histogram;
  private readonly refusalCounter: Counter;
  private readonly cost: number;
  private readonly queuePlaceCount: number;
  private readonly queue: FairQueue;
  /** A moving average of the time of one hash. Kept here, because reading the pool's histogram takes a quarter of a millisecond. */
  private averageMs = 0;

  constructor(settings: Settings, metrics: Registry, health: HealthRegistry) {
    this.cost = settings.auth.bcryptCost;
    this.pool = new Piscina({
      filename: new URL('./password.worker.js', import.meta.url).href,
      minThreads: availableParallelism(),
      maxThreads: availableParallelism(),
      // Lowers the priority of the hashing threads (on Linux each thread has its own), so that other requests go first during many logins.
      niceIncrement: 19,
    });
    this.threadsLoaded = Promise.allSettled(this.pool.threads.map((thread) => once(thread, 'message')));
    this.queuePlaceCount = this.pool.maxThreads + settings.auth.hashQueueMax;
    this.queue = new FairQueue(this.pool.maxThreads, this.queuePlaceCount);
    health.register('password hashing', () => Promise.resolve(this.health()));
    const waitingHelp = 'Passwords that wait for a hashing thread.';
    liveGauge(metrics, 'grantline_password_hash_queue_length', waitingHelp, () => this.queue.waitingCount);
    this.waitSeconds = new Histogram({
      name: 'grantline_password_hash_wait_seconds',
      help: 'How long passwords waited for a hashing thread.',
      buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
      registers: [metrics],
    });
    const refusalsHelp = 'Passwords that were not hashed because too many waited already.';
    this.refusalCounter = counter(metrics, 'grantline_password_hash_turned_away_total', refusalsHelp);
  }

  /**
   * Runs work that needs hashes if there is a free place: one for each hashing thread, and a bounded number for waiting requests.
   * FairQueue shares places and threads fairly between addresses.
   * @throws Refused `busy` when no place is left for the address, or when `signal` is aborted because the client has gone
   */
  async admit<T>(address: string, signal: AbortSignal, work: (hashing: Hashing) => Promise<T>): Promise<T> {
    const place = this.queue.enter(addressKey(address));
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

  /** Whether a hash has the configured cost. A sign-in replaces a hash of another cost. */
  hasCurrentCost(hash: string): boolean {
    return Number(hash.slice(4, 6)) === this.cost;
  }

  /** Ends the pool only after the server has stopped, because sign-ins in progress need it (onModuleDestroy would be too early). */
  async onApplicationShutdown(): Promise<void> {
    await this.threadsLoaded;
    await this.pool.destroy();
  }

  /** Runs a task in a thread. A task that has begun is finished even if the client has gone, because aborting it would end the thread. */
  private async run(task: Parameters<typeof work>[0], place: Place, signal: AbortSignal): Promise<string | boolean> {
    const requestedAt = performance.now();
    const acquisition = await this.queue.acquire(place, signal);
    if (acquisition === 'displaced') throw this.refuseBusy();
    if (acquisition === 'aborted') throw new Refused('busy', { detail: 'The client went away.' });
    try {
      const { result, ms: durationMs } = await this.pool.run(task);
      this.waitSeconds.observe((performance.now() - requestedAt - durationMs) / 1000);
      this.averageMs = this.averageMs === 0 ? durationMs : 0.9 * this.averageMs + 0.1 * durationMs;
      return result;
    } finally {
      this.queue.release(place);
    }
  }

  /** Counts a refusal and makes its error, with the estimated time until all admitted hashes are done. */
  private refuseBusy(): Refused {
    this.refusalCounter.inc();
    const seconds = Math.ceil((this.queue.takenPlaceCount * this.averageMs) / this.pool.maxThreads / 1000);
    return new Refused('busy', { retryAfter: seconds || 1 });
  }

  /** The state for the health check. A full queue is only `degraded`, because a replica that is `down` gets no requests at all. */
  private health(): Health {
    if (this.pool.threads.length === 0) return 'down';
    return this.queue.takenPlaceCount >= this.queuePlaceCount ? 'degraded' : 'up';
  }
}
