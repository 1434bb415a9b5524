import { Module } from '@nestjs/common';
import { SnapshotStore } from './domain/snapshot-store.js';
import { PostgresSnapshotStore } from './infrastructure/postgres-snapshot-store.js';
import { SnapshotService } from './snapshot.service.js';

/** The part of grants that publishing needs: read-only. */
@Module({
  providers: [SnapshotService, { provide: SnapshotStore, useClass: PostgresSnapshotStore }],
  exports: [SnapshotService],
})
export class SnapshotsModule {}
