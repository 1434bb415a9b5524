import { type DynamicModule, Module } from '@nestjs/common';
import { AuditModule } from '../audit/audit.module.js';
import { UsersModule } from '../users/users.module.js';
import { AdmissionService } from './admission.service.js';
import { AccessFileStore } from './domain/access-file-store.js';
import { EngineNames } from './domain/admission-ports.js';
import { FileTransaction } from './file-transaction.service.js';
import { GrantStoresModule } from './grant-stores.module.js';
import { PostgresAccessFileStore } from './infrastructure/postgres-access-file-store.js';
import { SnapshotController } from './snapshot.controller.js';
import { SnapshotFilesService } from './snapshot-files.service.js';
import { SnapshotWriter } from './snapshot-writer.service.js';
import { UserImportService } from './user-import.service.js';

/** The engine is not asked about a file: its names give warnings only. */
const ENGINE_NOT_ASKED: EngineNames = {
  unknownParts: (nodes) => Promise.resolve(nodes.map(() => null)),
  expressionError: () => Promise.resolve(null),
};

/** Snapshot files and lists of users: commands, and routes. */
@Module({})
export class SnapshotFilesModule {
  /** @param publishing implements the other ports of admission */
  static with(publishing: DynamicModule): DynamicModule {
    return {
      module: SnapshotFilesModule,
      imports: [AuditModule, UsersModule, GrantStoresModule, publishing],
      controllers: [SnapshotController],
      providers: [
        SnapshotFilesService,
        UserImportService,
        FileTransaction,
        SnapshotWriter,
        AdmissionService,
        { provide: AccessFileStore, useClass: PostgresAccessFileStore },
        { provide: EngineNames, useValue: ENGINE_NOT_ASKED },
      ],
      exports: [SnapshotFilesService, UserImportService],
    };
  }
}
