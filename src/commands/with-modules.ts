import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AppModule } from '../app.module.js';
import { openDatabase } from '../platform/database.js';
import { migrate } from '../platform/infrastructure/migrator.js';
import { NestLog } from '../platform/infrastructure/nest-log.js';
import { createPino, PinoLog } from '../platform/infrastructure/pino-log.js';
import { loadSettings } from '../platform/settings-loader.js';
import { remark } from './output.js';

/**
 * The modules without the server, for a command that works beside a running service or without one. Log lines go to standard
 * error: standard output is the command's answer.
 */
export async function withModules<T>(work: (modules: INestApplicationContext) => Promise<T>): Promise<T> {
  const settings = loadSettings();
  const log = new PinoLog(createPino({ ...settings.log, level: 'warn' }, process.stderr));
  const database = await openDatabase(settings, remark);
  try {
    if (!settings.production) await migrate(database.migrationUrl, database.url, settings.audit.retentionDays);
    const modules = await NestFactory.createApplicationContext(AppModule.with({ settings, database, log }), {
      logger: new NestLog(log),
      abortOnError: false,
    });
    try {
      return await work(modules);
    } finally {
      await modules.close();
    }
  } finally {
    await database.release();
  }
}
