import { Module } from '@nestjs/common';
import { AuditModule } from '../../audit/audit.module.js';
import { AuthModule } from '../../auth/auth.module.js';
import { GrantsModule } from '../../grants/grants.module.js';
import { Clock, Timers } from '../../kernel/clock.js';
import { HealthRegistry } from '../../platform/operations/health.js';
import { Settings } from '../../platform/settings/settings.js';
import { UsersModule } from '../../users/users.module.js';
import { IdentityProvider } from './identity-provider.js';
import { OidcAccountController } from './oidc-account.controller.js';
import { OidcAccountService } from './oidc-account.service.js';
import { OidcFlowsService } from './oidc-flows.service.js';
import { OidcSessionsService } from './oidc-sessions.service.js';
import { OidcSignInService } from './oidc-sign-in.service.js';
import { OidcController } from './oidc.controller.js';
import { OidcMetrics } from './oidc.metrics.js';
import { OidcStore } from './oidc.store.js';
import { PeopleService } from './people.service.js';
import { SealService } from './seal.service.js';

/** People who sign in at the company's identity provider (OpenID Connect). */
@Module({
  imports: [AuditModule, UsersModule, AuthModule, GrantsModule],
  controllers: [OidcController, OidcAccountController],
  providers: [
    OidcStore,
    OidcFlowsService,
    OidcSignInService,
    OidcAccountService,
    OidcSessionsService,
    PeopleService,
    SealService,
    OidcMetrics,
    {
      provide: IdentityProvider,
      // Without a provider no route reaches it.
      useFactory: (settings: Settings, timers: Timers, clock: Clock, health: HealthRegistry) =>
        settings.oidc === null ? null : new IdentityProvider(settings.oidc, timers, clock, health),
      inject: [Settings, Timers, Clock, HealthRegistry],
    },
  ],
})
export class OidcModule {}
