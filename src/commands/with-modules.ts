import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AppModule } from '../app.module.js';
import { migrate } from '../platform/infrastructure/migrator.js';
import { NestLog } from '../platform/infrastructure/nest-log.js';
import { withDatabase } from './with-database.js';

/** The modules without the server, for a command that works beside a running service or without one. */
export async function withModules<T>(work: (modules: INestApplicationContext) => Promise<T>): Promise<T> {
  return withDatabase(async ({ settings, log, database, lifetime }) => {
    if (!settings.production) await migrate(database.migrationUrl, database.url, settings.audit.retentionDays);
    const opening = NestFactory.createApplicationContext(AppModule.with({ settings, database, log }), {
      logger: new NestLog(log),
      abortOnError: false,
    });
    return work(await lifetime.open(opening, (modules) => modules.close()));
  });
}
