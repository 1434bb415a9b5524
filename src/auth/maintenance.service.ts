import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { Clock } from '../kernel/clock.js';
import { Log } from '../platform/log/log.js';
import { AdministratorsService } from '../users/administrators.service.js';
import { SessionStore } from './session.store.js';
import { Throttle } from './throttle.store.js';

/** Scheduled work on accounts. Replicas may do it at once. */
@Injectable()
export class MaintenanceService implements OnApplicationBootstrap {
  constructor(
    private readonly administrators: AdministratorsService,
    private readonly sessions: SessionStore,
    private readonly throttle: Throttle,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  onApplicationBootstrap(): Promise<void> {
    return this.updateAdministrators();
  }

  /**
   * Gives and takes the roles of the administrators' group at the start. Repeated because a replica with other settings may have written
   * since, and because the last administrator with a password, who kept the role, may not be the last any more.
   */
  @Cron('37 */5 * * * *', { name: 'administrators-by-group', waitForCompletion: true })
  updateAdministrators(): Promise<void> {
    return this.administrators.updateRoles({ actor: null, origin: null });
  }

  /** Removes expired sessions, tokens and counters. */
  @Cron('7 * * * *', { name: 'auth-sweep', waitForCompletion: true })
  async sweep(): Promise<void> {
    const now = this.clock.now();
    const sessions = await this.sessions.sweep(now);
    const counters = await this.throttle.sweep();
    this.log.info('removed expired sessions and throttle counters', { sessions, counters });
  }
}
