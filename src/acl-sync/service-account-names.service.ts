import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Settings } from '../platform/settings/settings.js';
import { PrincipalNames } from '../users/principal-names.store.js';

/** Claims the names of the service accounts in every process that publishes rules for them. */
@Injectable()
export class ServiceAccountNames implements OnApplicationBootstrap {
  constructor(
    private readonly names: PrincipalNames,
    private readonly settings: Settings,
  ) {}

  /** Refuses to start when an account has the name of a service account: its owner could act as that service on the engine. */
  async onApplicationBootstrap(): Promise<void> {
    const [held] = await this.names.claimForEngine(this.settings.acl.serviceAccounts);
    if (held === undefined) return;
    throw new Error(
      `ACL_SERVICE_ACCOUNTS names a service account that the ${held.holder === 'account' ? 'account' : 'engine principal'} ` +
        `'${held.name}' holds; a name has one holder. Take it out of the setting, or use another name.`,
    );
  }
}
