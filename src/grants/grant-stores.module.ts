import { Module } from '@nestjs/common';
import { PrincipalDirectory } from './domain/admission-ports.js';
import { NamedNodes } from './domain/catalog.js';
import { GrantStore } from './domain/grant.js';
import { GroupStore } from './domain/group.js';
import { PolicyStore } from './domain/policy.js';
import { SnapshotStore } from './domain/snapshot-store.js';
import { PostgresGrantStore } from './infrastructure/postgres-grant-store.js';
import { PostgresGroupStore } from './infrastructure/postgres-group-store.js';
import { PostgresNamedNodes } from './infrastructure/postgres-named-nodes.js';
import { PostgresPolicyStore } from './infrastructure/postgres-policy-store.js';
import { PostgresPrincipalDirectory } from './infrastructure/postgres-principal-directory.js';
import { PostgresSnapshotStore } from './infrastructure/postgres-snapshot-store.js';
import { SnapshotService } from './snapshot.service.js';

/** Recorded access: groups, grants and policies, with the principals that they name, and the snapshot of them all. */
@Module({
  providers: [
    { provide: GroupStore, useClass: PostgresGroupStore },
    { provide: GrantStore, useClass: PostgresGrantStore },
    { provide: PolicyStore, useClass: PostgresPolicyStore },
    { provide: PrincipalDirectory, useClass: PostgresPrincipalDirectory },
    { provide: NamedNodes, useClass: PostgresNamedNodes },
    { provide: SnapshotStore, useClass: PostgresSnapshotStore },
    SnapshotService,
  ],
  exports: [SnapshotService, GroupStore, GrantStore, NamedNodes, PolicyStore, PrincipalDirectory],
})
export class GrantStoresModule {}
