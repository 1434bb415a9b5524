import { Module } from '@nestjs/common';
import { SnapshotStore } from './domain/snapshot-store.js';
import { PostgresSnapshotStore } from './infrastructure/postgres-snapshot-store.js';
import { SnapshotService } from './snapshot.service.js';

/** All that a publication reads of grants: whoever only publishes changes none. */
@Module({
  providers: [SnapshotService, { provide: SnapshotStore, useClass: PostgresSnapshotStore }],
  exports: [SnapshotService],
})
export class SnapshotsModule {}
