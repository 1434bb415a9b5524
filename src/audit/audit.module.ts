import { Module } from '@nestjs/common';
import { AuditController } from './audit.controller.js';
import { AuditService } from './audit.service.js';
import { AuditStore } from './audit.store.js';

@Module({
  controllers: [AuditController],
  providers: [AuditService, AuditStore],
  exports: [AuditService],
})
export class AuditModule {}
