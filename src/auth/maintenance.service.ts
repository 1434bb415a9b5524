import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { Clock } from '../kernel/clock.js';
import { Log } from '../platform/log/log.js';
import { AdministratorsService } from '../users/administrators.service.js';
import { SessionStore } from './session.store.js';
import { Throttle } from './throttle.store.js';

/** Scheduled work on accounts. Several replicas may do the same work at the same time. */
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
   * Grants and revokes the role of administrator by membership in the administrators' group. Repeated, for example because a replica with
   * other settings may have changed roles.
   */
  @Cron('37 */5 * * * *', { name: 'administrators-by-group', waitForCompletion: true })
  updateAdministrators(): Promise<void> {
    return this.administrators.updateRoles({ actor: null, origin: null });
  }

  @Cron('7 * * * *', { name: 'auth-sweep', waitForCompletion: true })
  async sweep(): Promise<void> {
    const now = this.clock.now();
    const sessionCount = await this.sessions.sweep(now);
    const counterCount = await this.throttle.sweep();
    this.log.info('removed expired sessions and throttle counters', { sessions: sessionCount, counters: counterCount });
  }
}
