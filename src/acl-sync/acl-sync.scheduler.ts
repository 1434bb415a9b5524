import { Injectable, type Type } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { BackgroundRunsService } from './background-runs.service.js';

/** Decorators are evaluated before settings are read, so the class is made once the settings are known. */
export function aclSyncScheduler(cron: string): Type {
  @Injectable()
  class AclSyncScheduler {
    constructor(private readonly runs: BackgroundRunsService) {}

    @Cron(cron, { name: SYNC_JOB, waitForCompletion: true })
    run(): Promise<void> {
      return this.runs.run('schedule');
    }
  }
  return AclSyncScheduler;
}

export const SYNC_JOB = 'acl-sync';
