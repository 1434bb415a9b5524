import { availableParallelism } from 'node:os';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Piscina } from 'piscina';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { Refused } from '../../kernel/errors.js';
import { HealthRegistry, type Health } from '../../platform/health.js';
import { Settings } from '../../platform/settings.js';
import { type Hashing, PasswordHasher } from '../domain/password-hasher.js';
import type work from './password.worker.js';

/** bcryptjs in worker threads, one for each core. What waits for them is bounded by whom `admit` lets in. */
@Injectable()
export class PiscinaPasswordHasher extends PasswordHasher implements OnApplicationShutdown {
  private readonly pool: Piscina<Parameters<typeof work>[0], ReturnType<typeof work>>;
  private readonly waited: Histogram;
  private readonly turnedAway: Counter;
  private readonly cost: number;
  private readonly places: number;
  private taken = 0;
  /** Of a hash, lately. The pool's own histogram works out all its figures whenever it is asked for one, a quarter of a millisecond. */
  private typicalMs = 0;

  constructor(settings: Settings, metrics: Registry, health: HealthRegistry) {
    super();
    this.cost = settings.auth.bcryptCost;
    this.pool = new Piscina({
      filename: new URL('./password.worker.js', import.meta.url).href,
      minThreads: availableParallelism(),
      maxThreads: availableParallelism(),
      // On Linux a thread's own: requests that need no hash go first, whatever storms the logins.
      niceIncrement: 19,
    });
    const pool = this.pool;
    this.places = pool.maxThreads + settings.auth.hashQueueMax;
    health.register('password hashing', () => Promise.resolve(this.health()));
    new Gauge({
      name: 'grantline_password_hash_queue_length',
      help: 'Passwords that wait for a hashing thread.',
      registers: [metrics],
      collect() {
        this.set(pool.queueSize);
      },
    });
    this.waited = new Histogram({
      name: 'grantline_password_hash_wait_seconds',
      help: 'How long passwords waited for a hashing thread.',
      buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
      registers: [metrics],
    });
    this.turnedAway = new Counter({
      name: 'grantline_password_hash_turned_away_total',
      help: 'Passwords that were not hashed because too many waited already.',
      registers: [metrics],
    });
  }

  override async admit<T>(signal: AbortSignal, work: (hashing: Hashing) => Promise<T>): Promise<T> {
    if (this.taken >= this.places) {
      this.turnedAway.inc();
      throw new Refused('busy', { retryAfter: this.secondsOfQueue() });
    }
    this.taken += 1;
    try {
      return await work({
        hash: async (password) => String(await this.run({ password, cost: this.cost }, signal)),
        matches: async (password, hash) => (await this.run({ password, cost: this.cost, hash }, signal)) === true,
      });
    } finally {
      this.taken -= 1;
    }
  }

  override isCurrent(hash: string): boolean {
    return Number(hash.slice(4, 6)) === this.cost;
  }

  /** After the server has stopped: sign-ins in flight still need it (onModuleDestroy comes before). */
  async onApplicationShutdown(): Promise<void> {
    await this.pool.destroy();
  }

  private async run(task: Parameters<typeof work>[0], signal: AbortSignal): Promise<string | boolean> {
    const asked = performance.now();
    try {
      const { result, ms } = await this.pool.run(task, { signal });
      this.waited.observe((performance.now() - asked - ms) / 1000);
      this.typicalMs = this.typicalMs === 0 ? ms : 0.9 * this.typicalMs + 0.1 * ms;
      return result;
    } catch (error) {
      if (signal.aborted) throw new Refused('busy', { detail: 'The client went away.', cause: error });
      throw error;
    }
  }

  /** To have no place left says no to some; taking the replica away would say no to all. */
  private health(): Health {
    if (this.pool.threads.length === 0) return 'down';
    return this.taken >= this.places ? 'degraded' : 'up';
  }

  /** How long those who were let in take, by what hashes took so far. */
  private secondsOfQueue(): number {
    return Math.ceil((this.taken * this.typicalMs) / this.pool.maxThreads / 1000) || 1;
  }
}
