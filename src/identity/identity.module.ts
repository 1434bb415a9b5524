import { Module } from '@nestjs/common';
import { AuditModule } from '../audit/audit.module.js';
import { AuthModule } from '../auth/auth.module.js';
import { GrantsModule } from '../grants/grants.module.js';
import { Clock, Timers } from '../kernel/clock.js';
import { HealthRegistry } from '../platform/operations/health.js';
import { Settings } from '../platform/settings/settings.js';
import { UsersModule } from '../users/users.module.js';
import { IdentityProvider } from './oidc/identity-provider.js';
import { OidcAccountController } from './oidc/oidc-account.controller.js';
import { OidcAccountService } from './oidc/oidc-account.service.js';
import { OidcFlowsService } from './oidc/oidc-flows.service.js';
import { OidcSessionsService } from './oidc/oidc-sessions.service.js';
import { OidcSignInService } from './oidc/oidc-sign-in.service.js';
import { OidcController } from './oidc/oidc.controller.js';
import { OidcMetrics } from './oidc/oidc.metrics.js';
import { OidcStore } from './oidc/oidc.store.js';
import { PeopleService } from './oidc/people.service.js';
import { SealService } from './oidc/seal.service.js';
import { ScimGroupsService, ScimUsersService } from './scim/scim.service.js';
import { ScimDiscoveryController, ScimGroupsController, ScimUsersController } from './scim/scim.controller.js';
import { ScimGroupStore, ScimUserStore } from './scim/scim.store.js';
import { ApiTokenStore } from './tokens/api-token.store.js';
import { ApiTokenStrategy } from './tokens/api-token.strategy.js';
import { ApiTokensAdministrationController, ApiTokensController } from './tokens/api-tokens.controller.js';
import { ApiTokensService } from './tokens/api-tokens.service.js';

/** Nest providers for the sign-in at the company's identity provider (OpenID Connect). */
const OIDC_PROVIDERS = [
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
    // The value is null if no identity provider is configured. Routes that need the provider answer 404 then.
    useFactory: (settings: Settings, timers: Timers, clock: Clock, health: HealthRegistry) =>
      settings.oidc === null ? null : new IdentityProvider(settings.oidc, timers, clock, health),
    inject: [Settings, Timers, Clock, HealthRegistry],
  },
];

/** Nest providers for SCIM, by which the company's identity provider pushes people and groups (RFC 7643, 7644). */
const SCIM_PROVIDERS = [ScimUserStore, ScimUsersService, ScimGroupStore, ScimGroupsService];

/** Nest providers for API tokens, with which programs act for accounts. */
const TOKEN_PROVIDERS = [ApiTokenStore, ApiTokensService, ApiTokenStrategy];

@Module({
  imports: [AuditModule, UsersModule, AuthModule, GrantsModule],
  controllers: [
    OidcController,
    OidcAccountController,
    ScimDiscoveryController,
    ScimUsersController,
    ScimGroupsController,
    ApiTokensController,
    ApiTokensAdministrationController,
  ],
  providers: [...OIDC_PROVIDERS, ...SCIM_PROVIDERS, ...TOKEN_PROVIDERS],
})
export class IdentityModule {}
