import { type DynamicModule, Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { AclSyncModule, PublishingModule } from './acl-sync/publishing.module.js';
import { AuditModule } from './audit/audit.module.js';
import { AuthModule } from './auth/auth.module.js';
import { ConsoleModule } from './console/console.module.js';
import { GrantsModule } from './grants/grants.module.js';
import { ApiTokensModule } from './identity/tokens/api-tokens.module.js';
import { SnapshotFilesModule } from './grants/grants.module.js';
import { OidcModule } from './identity/oidc/oidc.module.js';
import { ScimModule } from './identity/scim/scim.module.js';
import { type Foundation, PlatformModule } from './platform/platform.module.js';
import { QueryEngineModule } from './query-engine/query-engine.module.js';
import { UsersModule } from './users/users.module.js';

/** The table of contents: the modules, in their order. Each knows only those before it, and gets here what implements its ports. */
@Module({})
export class AppModule {
  static with(foundation: Foundation): DynamicModule {
    const publishing = PublishingModule.with(foundation.settings);
    const grants = GrantsModule.with(QueryEngineModule, publishing);
    return {
      module: AppModule,
      imports: [
        PlatformModule.with(foundation),
        ScheduleModule.forRoot(),
        AuditModule,
        UsersModule,
        AuthModule,
        grants,
        SnapshotFilesModule.with(publishing),
        QueryEngineModule,
        OidcModule.with(grants),
        ScimModule.with(grants),
        ApiTokensModule,
        AclSyncModule.with(publishing),
        ...(foundation.settings.console.enabled ? [ConsoleModule] : []),
      ],
    };
  }
}
