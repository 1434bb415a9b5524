import { Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { Clock } from '../kernel/clock.js';
import { Log } from '../platform/log.js';
import { SessionStore } from './domain/session.js';
import { Throttle } from './domain/throttle.js';

/** Removes expired sessions, tokens and counters. Replicas may do so at once. */
@Injectable()
export class SweepService {
  constructor(
    private readonly sessions: SessionStore,
    private readonly throttle: Throttle,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  @Cron('7 * * * *', { name: 'auth-sweep', waitForCompletion: true })
  async sweep(): Promise<void> {
    const now = this.clock.now();
    const sessions = await this.sessions.sweep(now);
    const counters = await this.throttle.sweep();
    this.log.info('removed expired sessions and throttle counters', { sessions, counters });
  }
}
