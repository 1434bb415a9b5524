import { type DynamicModule, Module } from '@nestjs/common';
import { AuditModule } from '../../audit/audit.module.js';
import { AuthModule } from '../../auth/auth.module.js';
import { UsersModule } from '../../users/users.module.js';
import { ScimGroupStore } from './domain/scim-group.js';
import { ScimUserStore } from './domain/scim-user.js';
import { PostgresScimGroupStore } from './infrastructure/postgres-scim-group-store.js';
import { PostgresScimUserStore } from './infrastructure/postgres-scim-user-store.js';
import { ScimDiscoveryController } from './scim-discovery.controller.js';
import { ScimGroupsController } from './scim-groups.controller.js';
import { ScimGroupsService } from './scim-groups.service.js';
import { ScimUsersController } from './scim-users.controller.js';
import { ScimUsersService } from './scim-users.service.js';
import { ScimWritesService } from './scim-writes.service.js';

/** People and groups of the company's identity provider, which pushes them (RFC 7643, 7644). */
@Module({})
export class ScimModule {
  /** @param grants the module of recorded access, which is made with its ports */
  static with(grants: DynamicModule): DynamicModule {
    return {
      module: ScimModule,
      imports: [AuditModule, UsersModule, AuthModule, grants],
      controllers: [ScimDiscoveryController, ScimUsersController, ScimGroupsController],
      providers: [
        ScimWritesService,
        ScimUsersService,
        { provide: ScimUserStore, useClass: PostgresScimUserStore },
        ScimGroupsService,
        { provide: ScimGroupStore, useClass: PostgresScimGroupStore },
      ],
    };
  }
}
