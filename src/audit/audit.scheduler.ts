import { Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { AuditService } from './audit.service.js';

@Injectable()
export class AuditScheduler {
  constructor(private readonly audit: AuditService) {}

  @Cron('17 3 * * *', { name: 'audit-retention', waitForCompletion: true })
  async removePast(): Promise<void> {
    await this.audit.removePast();
  }
}
