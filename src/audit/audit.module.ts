import { Module } from '@nestjs/common';
import { AuditController } from './audit.controller.js';
import { AuditService } from './audit.service.js';
import { AuditStore } from './domain/audit-event.js';
import { PostgresAuditStore } from './infrastructure/postgres-audit-store.js';

@Module({
  controllers: [AuditController],
  providers: [AuditService, { provide: AuditStore, useClass: PostgresAuditStore }],
  exports: [AuditService],
})
export class AuditModule {}
