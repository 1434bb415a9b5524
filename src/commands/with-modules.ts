import { type INestApplicationContext, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { NestLog } from '../platform/log/pino-log.js';
import { PlatformModule } from '../platform/platform.module.js';
import type { SettingsCommand } from '../platform/settings/settings-loader.js';
import { withProgress } from './output.js';
import { mayCreateDatabase, migrateSchema, requireSchema, withDatabase } from './with-database.js';

@Module({})
class CommandModule {}

/** Runs a command's work with modules of the service, but without the server and background work. A service may run at the same time. */
export async function withModules<T>(
  command: SettingsCommand,
  modules: readonly Type[],
  work: (context: INestApplicationContext) => Promise<T>,
): Promise<T> {
  return withDatabase(command, async ({ settings, log, database, commandLifetime: lifetime }) => {
    const isMigrated = mayCreateDatabase(command) && !settings.isProduction;
    const schemaCheck = isMigrated ? migrateSchema(settings, database) : requireSchema(database);
    await withProgress('preparing the database', schemaCheck as Promise<unknown>);
    const rootModule = {
      module: CommandModule,
      imports: [PlatformModule.forRoot({ settings, database, log }), ...modules],
    };
    const opening = NestFactory.createApplicationContext(rootModule, { logger: new NestLog(log), abortOnError: false });
    return work(await lifetime.open(opening, (context) => context.close()));
  });
}
