import { type DynamicModule, Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { AclSyncModule, PublishingModule } from './acl-sync/publishing.module.js';
import { AuditModule } from './audit/audit.module.js';
import { AuthModule } from './auth/auth.module.js';
import { ConsoleModule } from './console/console.module.js';
import { GrantsModule, SnapshotFilesModule } from './grants/grants.module.js';
import { IdentityModule } from './identity/identity.module.js';
import { OpaModule } from './opa/opa.module.js';
import { type Foundation, PlatformModule } from './platform/platform.module.js';
import { QueryEngineModule } from './query-engine/query-engine.module.js';
import { UsersModule } from './users/users.module.js';

/** The table of contents: the modules, in their order. Each imports only those before it. */
@Module({})
export class AppModule {
  static forFoundation(foundation: Foundation): DynamicModule {
    return {
      module: AppModule,
      imports: [
        PlatformModule.forRoot(foundation),
        ScheduleModule.forRoot(),
        AuditModule,
        UsersModule,
        AuthModule,
        GrantsModule,
        SnapshotFilesModule,
        QueryEngineModule,
        IdentityModule,
        PublishingModule,
        AclSyncModule,
        ...(foundation.settings.acl.opa === null ? [] : [OpaModule]),
        ...(foundation.settings.console.enabled ? [ConsoleModule] : []),
      ],
    };
  }
}
