import { type DynamicModule, Module } from '@nestjs/common';
import { AuditModule } from '../../audit/audit.module.js';
import { AuthModule } from '../../auth/auth.module.js';
import { Clock, Timers } from '../../kernel/clock.js';
import { Settings } from '../../platform/settings.js';
import { UsersModule } from '../../users/users.module.js';
import { IdentityProvider } from './domain/identity-provider.js';
import { OidcStore } from './domain/oidc-store.js';
import { OpenidProvider } from './infrastructure/openid-provider.js';
import { PostgresOidcStore } from './infrastructure/postgres-oidc-store.js';
import { ProviderWatchService } from './provider-watch.service.js';
import { OidcCodesService } from './oidc-codes.service.js';
import { OidcConfirmationController } from './oidc-confirmation.controller.js';
import { OidcConfirmationsService } from './oidc-confirmations.service.js';
import { OidcExchangesService } from './oidc-exchanges.service.js';
import { OidcFlowsService } from './oidc-flows.service.js';
import { OidcGroupsService } from './oidc-groups.service.js';
import { OidcLinksController } from './oidc-links.controller.js';
import { OidcLinksService } from './oidc-links.service.js';
import { OidcLogoutService } from './oidc-logout.service.js';
import { OidcRechecksService } from './oidc-rechecks.service.js';
import { OidcSettings } from './oidc-settings.js';
import { OidcSignInService } from './oidc-sign-in.service.js';
import { OidcController } from './oidc.controller.js';
import { OidcMetrics } from './oidc.metrics.js';
import { PeopleService } from './people.service.js';
import { SealService } from './seal.service.js';

/** People who sign in at the company's identity provider (OpenID Connect). */
@Module({})
export class OidcModule {
  /** @param grants the module of recorded access, which is made with its ports */
  static with(grants: DynamicModule): DynamicModule {
    return {
      module: OidcModule,
      imports: [AuditModule, UsersModule, AuthModule, grants],
      controllers: [OidcController, OidcConfirmationController, OidcLinksController],
      providers: [
        OidcSettings,
        OidcFlowsService,
        OidcSignInService,
        OidcConfirmationsService,
        OidcLinksService,
        OidcCodesService,
        OidcExchangesService,
        OidcLogoutService,
        OidcRechecksService,
        OidcGroupsService,
        PeopleService,
        SealService,
        OidcMetrics,
        ProviderWatchService,
        { provide: OidcStore, useClass: PostgresOidcStore },
        {
          provide: IdentityProvider,
          // Without a provider no route reaches it.
          useFactory: (settings: Settings, timers: Timers, clock: Clock) =>
            settings.oidc === null ? null : new OpenidProvider(settings.oidc, timers, clock),
          inject: [Settings, Timers, Clock],
        },
      ],
    };
  }
}
