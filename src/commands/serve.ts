import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { type Database, openDatabase } from '../platform/database/database.js';
import { LogOutput } from '../platform/log/log-output.js';
import { createPino, PinoLog } from '../platform/log/pino-log.js';
import type { Log } from '../platform/log/log.js';
import { loadSettings } from '../platform/settings/settings-loader.js';
import type { Settings } from '../platform/settings/settings.js';
import { Lifetime } from './lifetime.js';
import { migrateSchema, requireTables } from './with-database.js';
import { runOnDatabase, listenOn } from './start-failure.js';

/** V8 counts pages of rows, which lie outside its heap, as growth of the heap, and would soon run full collections. */
const ROOM_FOR_PAGES = '--heap-growing-percent=200';

/**
 * Runs the service until SIGTERM or SIGINT. In production migrating is a separate step (`grantline migrate`), so that starting replicas
 * do not compete for it.
 */
export async function serve(): Promise<number> {
  setFlagsFromString(ROOM_FOR_PAGES);
  const settings = await loadSettings('serve');
  const output = new LogOutput(process.stdout, settings.log.format, process.stdout.isTTY);
  const log = new PinoLog(createPino(settings.log, output), output);
  const lifetime = new Lifetime(log, () => 0, output);
  return lifetime.run(async () => {
    const database = await start(settings, log, lifetime);
    return Promise.race([lifetime.untilSignal(), database.failure]);
  });
}

async function start(settings: Settings, log: Log, lifetime: Lifetime): Promise<Database> {
  const opening = openDatabase(settings, { mayCreate: true, report: (line) => log.info(line) });
  const database = await lifetime.open(opening, (opened) => opened.release());
  if (settings.production) await requireTables(database);
  else {
    const applied = await migrateSchema(settings, database, ({ waitsFor, seconds }) =>
      log.warn('the migration waits', { waits_for: waitsFor, seconds }),
    );
    if (applied.length > 0) log.info('migrated', { applied });
  }
  const { createApplication } = await import('../application.js'); // takes seconds, so refused settings are reported before
  const { app, operations } = await lifetime.open(
    runOnDatabase(database, () => createApplication(settings, database, log)),
    async ({ operations, close }, cut) => {
      await close(cut);
      await operations.close(); // last, so that health checks work until then
    },
  );
  const names = {
    operations: { host: 'OPERATIONS_HOST', port: 'OPERATIONS_PORT' },
    http: { host: 'HOST', port: 'PORT' },
  };
  await listenOn({ ...settings.operations, settings: names.operations }, (at) => operations.listen(at));
  await listenOn({ ...settings.http, settings: names.http }, ({ host, port }) => app.listen(port, host));
  const address = `http://${host(settings.http.host)}:${(app.getHttpServer().address() as AddressInfo).port}`;
  log.info(`listening on ${address}`, {
    api: `${address}/api/docs`,
    operations: `http://${host(settings.operations.host)}:${(operations.server.address() as AddressInfo).port}`,
    ...(settings.production
      ? {}
      : { first_administrator: 'npx --no -- grantline users create-admin --username NAME --email ADDRESS' }),
  });
  return database;
}

/** A host as people type it: `localhost` for loopback, brackets for IPv6. */
function host(name: string): string {
  if (name === '127.0.0.1') return 'localhost';
  return name.includes(':') ? `[${name}]` : name;
}
