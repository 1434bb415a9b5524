import { Module } from '@nestjs/common';
import { AuditModule } from '../../audit/audit.module.js';
import { AuthModule } from '../../auth/auth.module.js';
import { GrantsModule } from '../../grants/grants.module.js';
import { UsersModule } from '../../users/users.module.js';
import { ScimGroupsService } from './scim-groups.service.js';
import { ScimUsersService } from './scim-users.service.js';
import { ScimWritesService } from './scim-writes.service.js';
import { ScimDiscoveryController, ScimGroupsController, ScimUsersController } from './scim.controller.js';
import { ScimGroupStore, ScimUserStore } from './scim.store.js';

/** People and groups that the company's identity provider pushes (RFC 7643, 7644). */
@Module({
  imports: [AuditModule, UsersModule, AuthModule, GrantsModule],
  controllers: [ScimDiscoveryController, ScimUsersController, ScimGroupsController],
  providers: [ScimWritesService, ScimUserStore, ScimUsersService, ScimGroupStore, ScimGroupsService],
})
export class ScimModule {}
