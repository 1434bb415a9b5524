import { availableParallelism } from 'node:os';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Piscina } from 'piscina';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { Refused } from '../../kernel/errors.js';
import { HealthRegistry, type Health } from '../../platform/health.js';
import { Settings } from '../../platform/settings.js';
import { PasswordHasher } from '../domain/password-hasher.js';
import type work from './password.worker.js';

/** bcryptjs in worker threads, one for each core, behind a bounded queue. */
@Injectable()
export class PiscinaPasswordHasher extends PasswordHasher implements OnApplicationShutdown {
  private readonly pool: Piscina<Parameters<typeof work>[0], ReturnType<typeof work>>;
  private readonly waited: Histogram;
  private readonly turnedAway: Counter;
  private readonly cost: number;
  private readonly queueMax: number;
  /** Of a hash, lately. The pool's own histogram works out all its figures whenever it is asked for one, a quarter of a millisecond. */
  private typicalMs = 0;

  constructor(settings: Settings, metrics: Registry, health: HealthRegistry) {
    super();
    this.cost = settings.auth.bcryptCost;
    this.queueMax = settings.auth.hashQueueMax;
    this.pool = new Piscina({
      filename: new URL('./password.worker.js', import.meta.url).href,
      minThreads: availableParallelism(),
      maxThreads: availableParallelism(),
      maxQueue: this.queueMax,
      // On Linux a thread's own: requests that need no hash go first, whatever storms the logins.
      niceIncrement: 10,
    });
    const pool = this.pool;
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

  override requireRoom(): void {
    if (this.pool.queueSize < this.queueMax) return;
    this.turnedAway.inc();
    throw new Refused('busy', { retryAfter: this.secondsOfQueue() });
  }

  override async hash(password: string, signal: AbortSignal): Promise<string> {
    return String(await this.run({ password, cost: this.cost }, signal));
  }

  override async matches(password: string, hash: string | null, signal: AbortSignal): Promise<boolean> {
    return (await this.run({ password, cost: this.cost, hash }, signal)) === true;
  }

  override isCurrent(hash: string): boolean {
    return Number(hash.slice(4, 6)) === this.cost;
  }

  /** After the server has stopped: sign-ins in flight still need it (onModuleDestroy comes before). */
  async onApplicationShutdown(): Promise<void> {
    await this.pool.destroy();
  }

  private async run(task: Parameters<typeof work>[0], signal: AbortSignal): Promise<string | boolean> {
    this.requireRoom();
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

  /** A full queue says no to some; taking the replica away would say no to all. */
  private health(): Health {
    if (this.pool.threads.length === 0) return 'down';
    return this.pool.queueSize >= this.queueMax ? 'degraded' : 'up';
  }

  /** How long the present queue takes, by what hashes took so far. */
  private secondsOfQueue(): number {
    return Math.ceil((this.pool.queueSize * this.typicalMs) / this.pool.maxThreads / 1000) || 1;
  }
}
