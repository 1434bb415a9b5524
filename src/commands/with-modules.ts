import { type INestApplicationContext, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { NestLog } from '../platform/log/pino-log.js';
import { PlatformModule } from '../platform/platform.module.js';
import type { SettingsUser } from '../platform/settings/settings-loader.js';
import { withProgress } from './output.js';
import { mayCreate, migrateSchema, requireSchema, withDatabase } from './with-database.js';

/** The root module of a command. */
@Module({})
class CommandModule {}

/** Runs a command's work with modules of the service, but without the server and background work. A service may run at the same time. */
export async function withModules<T>(
  command: SettingsUser,
  modules: readonly Type[],
  work: (context: INestApplicationContext) => Promise<T>,
): Promise<T> {
  return withDatabase(command, async ({ settings, log, database, lifetime }) => {
    const isMigrated = mayCreate(command) && !settings.production;
    const ready = isMigrated ? migrateSchema(settings, database) : requireSchema(database);
    await withProgress('preparing the database', ready as Promise<unknown>);
    const root = {
      module: CommandModule,
      imports: [PlatformModule.with({ settings, database, log }), ...modules],
    };
    const opening = NestFactory.createApplicationContext(root, { logger: new NestLog(log), abortOnError: false });
    return work(await lifetime.open(opening, (context) => context.close()));
  });
}
