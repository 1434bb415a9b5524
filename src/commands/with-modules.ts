import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AppModule } from '../app.module.js';
<<<<<<< Updated upstream
import { openDatabase } from '../platform/database.js';
=======
import { SystemClock } from '../kernel/clock.js';
>>>>>>> Stashed changes
import { migrate } from '../platform/infrastructure/migrator.js';
import { NestLog } from '../platform/infrastructure/nest-log.js';
import { withDatabase } from './with-database.js';

/** The modules without the server, for a command that works beside a running service or without one. */
export async function withModules<T>(work: (modules: INestApplicationContext) => Promise<T>): Promise<T> {
<<<<<<< Updated upstream
  const settings = loadSettings();
  const log = new PinoLog(createPino({ ...settings.log, level: 'warn' }, process.stderr));
  const database = await openDatabase(settings, remark);
  try {
    if (!settings.production) await migrate(database.migrationUrl, database.url, settings.audit.retentionDays);
    const modules = await NestFactory.createApplicationContext(AppModule.with({ settings, database, log }), {
=======
  return withDatabase(async ({ settings, log, database, lifetime }) => {
    if (!settings.production) await migrate(database.migrationUrl, database.url);
    const foundation = { settings, database, log, clock: new SystemClock() };
    const opening = NestFactory.createApplicationContext(AppModule.with(foundation), {
>>>>>>> Stashed changes
      logger: new NestLog(log),
      abortOnError: false,
    });
    return work(await lifetime.open(opening, (modules) => modules.close()));
  });
}
