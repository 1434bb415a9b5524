import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';
import type { DataSource } from 'typeorm';
import type { Quota } from '../../kernel/errors.js';
import { Settings } from '../../platform/settings.js';
import { type Attempt, countedAddress, Throttle } from '../domain/throttle.js';

const COUNTED: Attempt = { kind: 'counted' };

/** Counters in PostgreSQL, raised by one upsert each, so that all replicas count together. */
@Injectable()
export class PostgresThrottle extends Throttle {
  private readonly enabled: boolean;
  private readonly perName: Limit;
  private readonly perAddress: Limit;
  private readonly registrations: Limit;

  constructor(
    settings: Settings,
    @InjectDataSource() private readonly source: DataSource,
  ) {
    super();
    const { enabled, windowSeconds, perName, perAddress, registerPerHour } = settings.auth.throttle;
    this.enabled = enabled;
    this.perName = new Limit(source, { name: 'login-name', limit: perName, windowSeconds });
    this.perAddress = new Limit(source, { name: 'login-address', limit: perAddress, windowSeconds });
    this.registrations = new Limit(source, { name: 'registration', limit: registerPerHour, windowSeconds: 3600 });
  }

  override async login(username: string, address: string): Promise<Attempt> {
    if (!this.enabled) return COUNTED;
    // An attempt that its own name refuses does not use up what others behind the same address have.
    const byName = await this.perName.count(nameKey(username, address));
    return byName.kind === 'throttled' ? byName : this.perAddress.count(countedAddress(address));
  }

  override async loginSucceeded(username: string, address: string): Promise<void> {
    if (!this.enabled) return;
    await this.perName.forget(nameKey(username, address));
    await this.perAddress.takeBack(countedAddress(address));
  }

  override async registration(address: string): Promise<Attempt> {
    return this.enabled ? this.registrations.count(countedAddress(address)) : COUNTED;
  }

  override async sweep(now: Date): Promise<number> {
    const [, removed] = await this.source.query<[unknown, number]>('DELETE FROM throttle_counters WHERE expire < $1', [
      now.getTime(),
    ]);
    return removed;
  }
}

class Limit {
  private readonly limiter: RateLimiterPostgres;

  constructor(
    source: DataSource,
    private readonly quota: Quota,
  ) {
    this.limiter = new RateLimiterPostgres({
      storeClient: source,
      storeType: 'typeorm',
      tableName: 'throttle_counters',
      tableCreated: true,
      clearExpiredByTimeout: false,
      keyPrefix: quota.name,
      points: quota.limit,
      duration: quota.windowSeconds,
    });
  }

  async count(key: string): Promise<Attempt> {
    try {
      await this.limiter.consume(key);
      return COUNTED;
    } catch (refusal) {
      // It rejects with the counter where the limit is reached, and with an error where the database fails.
      if (!(refusal instanceof RateLimiterRes)) throw refusal;
      const { msBeforeNext, consumedPoints } = refusal;
      const { quota } = this;
      return { kind: 'throttled', quota, retryAfter: msBeforeNext / 1000, first: consumedPoints === quota.limit + 1 };
    }
  }

  async takeBack(key: string): Promise<void> {
    await this.limiter.reward(key);
  }

  async forget(key: string): Promise<void> {
    await this.limiter.delete(key);
  }
}

/** A digest, because a name may be of any length, and because people type passwords into the wrong field. */
function nameKey(username: string, address: string): string {
  const name = createHash('sha256').update(username.toLowerCase()).digest('base64url');
  return `${name}:${countedAddress(address)}`;
}
