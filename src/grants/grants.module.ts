import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { AuditModule } from '../audit/audit.module.js';
import { UsersModule } from '../users/users.module.js';
import { AccessAdministrationController, AccessController } from './access.controller.js';
import { AccessWritesService } from './access-writes.service.js';
import { AccessService } from './access.service.js';
import { AdmissionService } from './admission.service.js';
import { CatalogAdministrationController, CatalogController } from './catalog.controller.js';
import { CatalogService } from './catalog.service.js';
import { DraftsService } from './drafts.service.js';
import { FormerNamesController } from './former-names.controller.js';
import { FormerNamesService } from './former-names.service.js';
import { GrantStoresModule } from './grant-stores.module.js';
import { GrantsController } from './grants.controller.js';
import { GrantsService } from './grants.service.js';
import { GroupWritesService } from './group-writes.service.js';
import { GroupsController } from './groups.controller.js';
import { GroupsService } from './groups.service.js';
import { PoliciesController } from './policies.controller.js';
import { PoliciesService } from './policies.service.js';
import { PrincipalRemovalService } from './principal-removal.service.js';
import { ProviderGroupsService } from './provider-groups.service.js';

/** Access that administrators record: grants, groups, policies; and the answers that follow from it. */
@Module({})
export class GrantsModule {
  /** @param ports the modules that implement `domain/admission-ports.ts` and `published-rules.ts`; they come later in the order */
  static with(...ports: (Type | DynamicModule)[]): DynamicModule {
    return {
      module: GrantsModule,
      imports: [AuditModule, UsersModule, GrantStoresModule, ...ports],
      controllers: [
        GroupsController,
        GrantsController,
        PoliciesController,
        AccessController,
        AccessAdministrationController,
        CatalogController,
        CatalogAdministrationController,
        FormerNamesController,
      ],
      providers: [
        AccessWritesService,
        GroupsService,
        GroupWritesService,
        GrantsService,
        PoliciesService,
        AdmissionService,
        AccessService,
        CatalogService,
        DraftsService,
        PrincipalRemovalService,
        FormerNamesService,
        ProviderGroupsService,
      ],
      exports: [AccessWritesService, GroupWritesService, PrincipalRemovalService, ProviderGroupsService],
    };
  }
}
