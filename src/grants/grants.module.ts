import { Module } from '@nestjs/common';
import { AuditModule } from '../audit/audit.module.js';
import { UsersModule } from '../users/users.module.js';
import { AccessAdministrationController, AccessController } from './access.controller.js';
import { AccessFileStore } from './access-file.store.js';
import { AccessWritesService } from './access-writes.service.js';
import { AccessService } from './access.service.js';
import { AdmissionService } from './admission.service.js';
import { CatalogAdministrationController, CatalogController } from './catalog.controller.js';
import { EngineNames } from './domain/admission-ports.js';
import { SnapshotStore } from './domain/snapshot-store.js';
import { DraftsService } from './drafts.service.js';
import { FormerNamesController, FormerNamesService } from './former-names.controller.js';
import { GrantStore } from './grant.store.js';
import { GrantUseStore } from './grant-use.store.js';
import { GrantsController } from './grants.controller.js';
import { GrantsService } from './grants.service.js';
import { GroupStore } from './group.store.js';
import { GuaranteeStore } from './guarantee.store.js';
import { GuaranteesController } from './guarantees.controller.js';
import { GuaranteesService } from './guarantees.service.js';
import { GroupsService, GroupWritesService } from './groups.service.js';
import { GroupsController } from './groups.controller.js';
import { PostgresSnapshotStore } from './infrastructure/postgres-snapshot-store.js';
import { PoliciesController } from './policies.controller.js';
import { PoliciesService } from './policies.service.js';
import { PolicyStore } from './policy.store.js';
import { SnapshotController } from './snapshot.controller.js';
import { SnapshotFilesService } from './snapshot-files.service.js';
import { SnapshotWriter } from './snapshot-writer.service.js';
import { UserImportService } from './user-import.service.js';

const STORES = [GroupStore, GrantStore, GrantUseStore, PolicyStore, GuaranteeStore];
const SNAPSHOT_STORE = { provide: SnapshotStore, useClass: PostgresSnapshotStore };

/** Stores of groups, grants, policies and guarantees, and the store that reads all of them as a snapshot. */
@Module({ imports: [AuditModule], providers: [...STORES, SNAPSHOT_STORE], exports: [...STORES, SnapshotStore] })
export class GrantStoresModule {}

/** Grants, groups and policies that administrators record, and answers about access. Global modules implement the ports in `domain/admission-ports.ts`. */
@Module({
  imports: [AuditModule, UsersModule, GrantStoresModule],
  controllers: [
    GroupsController,
    GrantsController,
    PoliciesController,
    GuaranteesController,
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
    GuaranteesService,
    AdmissionService,
    AccessService,
    DraftsService,
    FormerNamesService,
  ],
  exports: [AccessWritesService, GroupsService, GroupWritesService],
})
export class GrantsModule {}

/** Answers in place of the engine while a file is applied. Names in files are not checked, because an unknown name only gives a warning. */
const ENGINE_NOT_ASKED: EngineNames = {
  unknownParts: (nodes) => Promise.resolve(nodes.map(() => null)),
  expressionError: () => Promise.resolve(null),
};

/** Services for snapshot files and lists of users, used by commands and routes. */
@Module({
  imports: [AuditModule, UsersModule, GrantStoresModule],
  controllers: [SnapshotController],
  providers: [
    SnapshotFilesService,
    UserImportService,
    AccessWritesService,
    SnapshotWriter,
    AdmissionService,
    AccessFileStore,
    { provide: EngineNames, useValue: ENGINE_NOT_ASKED },
  ],
  exports: [SnapshotFilesService, UserImportService],
})
export class SnapshotFilesModule {}
