import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { AdministratorsService } from '../users/administrators.service.js';

/**
 * Roles by the identity provider's group also follow the settings, at the start. Then what a replica of other settings wrote before it
 * ended, and whoever was the last administrator with a password and is not any more.
 */
@Injectable()
export class AdministratorsWatchService implements OnApplicationBootstrap {
  constructor(private readonly administrators: AdministratorsService) {}

  onApplicationBootstrap(): Promise<void> {
    return this.follow();
  }

  @Cron('37 */5 * * * *', { name: 'administrators-by-group', waitForCompletion: true })
  follow(): Promise<void> {
    return this.administrators.follow({ actor: null, origin: null });
  }
}
