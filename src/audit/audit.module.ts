import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditController } from './audit.controller.js';
import { AuditService } from './audit.service.js';
import { AuditStore } from './domain/audit-store.js';
import { AuditEventRow } from './infrastructure/audit-event.entity.js';
import { TypeormAuditStore } from './infrastructure/typeorm-audit-store.js';

@Module({
  imports: [TypeOrmModule.forFeature([AuditEventRow])],
  controllers: [AuditController],
  providers: [AuditService, { provide: AuditStore, useClass: TypeormAuditStore }],
  exports: [AuditService],
})
export class AuditModule {}
