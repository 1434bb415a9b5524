import { Module } from '@nestjs/common';
import { AuditModule } from '../audit/audit.module.js';
import { UsersModule } from '../users/users.module.js';
import { AccessAdministrationController } from './access-administration.controller.js';
import { AccessController } from './access.controller.js';
import { AccessService } from './access.service.js';
import { AdmissionService } from './admission.service.js';
import { PrincipalDirectory } from './domain/admission-ports.js';
import { GrantStore } from './domain/grant.js';
import { GroupStore } from './domain/group.js';
import { PolicyStore } from './domain/policy.js';
import { DraftsService } from './drafts.service.js';
import { GrantsController } from './grants.controller.js';
import { GrantsService } from './grants.service.js';
import { GroupsController } from './groups.controller.js';
import { GroupsService } from './groups.service.js';
import { PostgresGrantStore } from './infrastructure/postgres-grant-store.js';
import { PostgresGroupStore } from './infrastructure/postgres-group-store.js';
import { PostgresPolicyStore } from './infrastructure/postgres-policy-store.js';
import { PostgresPrincipalDirectory } from './infrastructure/postgres-principal-directory.js';
import { PoliciesController } from './policies.controller.js';
import { PoliciesService } from './policies.service.js';
import { SnapshotsModule } from './snapshots.module.js';

/** Access that administrators record: grants, groups, policies; and the answers that follow from it. */
@Module({
  imports: [AuditModule, UsersModule, SnapshotsModule],
  controllers: [
    GroupsController,
    GrantsController,
    PoliciesController,
    AccessController,
    AccessAdministrationController,
  ],
  providers: [
    GroupsService,
    GrantsService,
    PoliciesService,
    AdmissionService,
    AccessService,
    DraftsService,
    { provide: GroupStore, useClass: PostgresGroupStore },
    { provide: GrantStore, useClass: PostgresGrantStore },
    { provide: PolicyStore, useClass: PostgresPolicyStore },
    { provide: PrincipalDirectory, useClass: PostgresPrincipalDirectory },
  ],
})
export class GrantsModule {}
