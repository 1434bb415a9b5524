import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { type Database, openDatabase } from '../platform/database/database.js';
import { LogOutput } from '../platform/log/log-output.js';
import { createPino, PinoLog } from '../platform/log/pino-log.js';
import type { Log } from '../platform/log/log.js';
import { loadSettings } from '../platform/settings/settings-loader.js';
import type { Settings } from '../platform/settings/settings.js';
import { scheduleProblem } from '../platform/settings/sync-schedule.js';
import { Lifetime } from './lifetime.js';
import { migrateSchema, requireTables } from './with-database.js';
import { runOnDatabase, listenOn } from './start-failure.js';

/** Pages of rows lie outside V8's heap, but V8 counts them as growth of the heap. Without this flag V8 would collect the whole heap too often. */
const HEAP_GROWTH_FLAG = '--heap-growing-percent=200';

/**
 * Runs the service until SIGTERM or SIGINT. In production migrating is a separate step (`grantline migrate`), so that starting replicas
 * do not compete for it.
 */
export async function serve(): Promise<number> {
  setFlagsFromString(HEAP_GROWTH_FLAG);
  const settings = await loadSettings('serve', undefined, scheduleProblem);
  const output = new LogOutput(process.stdout, settings.log.format, process.stdout.isTTY);
  const log = new PinoLog(createPino(settings.log, output), output);
  for (const { name, resembles } of settings.misspelt) log.warn('a setting may be misspelt', { name, resembles });
  const lifetime = new Lifetime(log, () => 0, output);
  return lifetime.run(async () => {
    const database = await startService(settings, log, lifetime);
    return Promise.race([lifetime.waitForSignal(), database.failure]);
  });
}

async function startService(settings: Settings, log: Log, lifetime: Lifetime): Promise<Database> {
  const databasePromise = openDatabase(settings, { mayCreate: true, report: (line) => log.info(line) });
  const database = await lifetime.open(databasePromise, (openedDatabase) => openedDatabase.release());
  if (settings.isProduction) await requireTables(database);
  else {
    const appliedMigrations = await migrateSchema(settings, database, ({ obstacle, seconds }) =>
      log.warn('the migration waits', { waits_for: obstacle, seconds }),
    );
    if (appliedMigrations.length > 0) log.info('migrated', { applied: appliedMigrations });
  }
  const { createApplication } = await import('../application.js'); // takes seconds, so refused settings are reported before
  const { app, operations } = await lifetime.open(
    runOnDatabase(database, () => createApplication(settings, database, log)),
    async ({ operations, close }, deadline) => {
      await close(deadline);
      await operations.close(); // last, so that health checks work until then
    },
  );
  const names = {
    operations: {
      host: settings.operations.host === settings.http.host ? 'HOST' : 'OPERATIONS_HOST',
      port: 'OPERATIONS_PORT',
    },
    http: { host: 'HOST', port: 'PORT' },
  };
  await listenOn({ ...settings.operations, settingNames: names.operations }, (endpoint) => operations.listen(endpoint));
  await listenOn({ ...settings.http, settingNames: names.http }, ({ host, port }) => app.listen(port, host));
  const address = `http://${displayHost(settings.http.host)}:${(app.getHttpServer().address() as AddressInfo).port}`;
  log.info(`listening on ${address}`, {
    api: `${address}/api/docs`,
    operations: `http://${displayHost(settings.operations.host)}:${(operations.server.address() as AddressInfo).port}`,
    ...(settings.isProduction
      ? {}
      : { first_administrator: 'npx --no -- grantline users create-admin --username NAME --email ADDRESS' }),
  });
  return database;
}

/** A host as people type it: `localhost` for loopback, brackets for IPv6. */
function displayHost(name: string): string {
  if (name === '127.0.0.1') return 'localhost';
  return name.includes(':') ? `[${name}]` : name;
}
