import { Injectable } from '@nestjs/common';
import { Clock } from '../kernel/clock.js';
import { Log } from '../platform/log.js';
import { SessionStore } from './domain/session-store.js';
import { Throttle } from './domain/throttle.js';

/** Removes what is of no use any more. Replicas may do it at once: what one has removed is not there for the other. */
@Injectable()
export class SweepService {
  constructor(
    private readonly sessions: SessionStore,
    private readonly throttle: Throttle,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  async sweep(): Promise<void> {
    const now = this.clock.now();
    const sessions = await this.sessions.sweep(now);
    const counters = await this.throttle.sweep();
    this.log.info('swept', { sessions, counters });
  }
}
