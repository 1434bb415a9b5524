import type { AddressInfo } from 'node:net';
import { createApplication } from '../application.js';
import { openDatabase } from '../platform/database.js';
import { migrate } from '../platform/infrastructure/migrator.js';
import { createPino, PinoLog } from '../platform/infrastructure/pino-log.js';
import { loadSettings } from '../platform/settings-loader.js';

/**
 * The service, until SIGTERM or SIGINT. In production the schema is somebody else's step (`grantline migrate`), so that
 * starting replicas never race for it.
 */
export async function serve(): Promise<void> {
  const settings = loadSettings();
  const log = new PinoLog(createPino(settings.log));
  const database = await openDatabase(settings, (line) => log.info(line));
  if (!settings.production) {
    const applied = await migrate(database.migrationUrl, database.url, settings.audit.retentionDays);
    if (applied.length > 0) log.info('migrated', { applied });
  }
  const { app, operations } = await createApplication(settings, database, log);
  const stop = async (signal: string): Promise<void> => {
    log.info('stopping', { signal });
    await app.close();
    await operations.close();
    await database.release();
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      stop(signal).then(
        () => process.exit(0),
        (error: unknown) => {
          log.error('the stop was not clean', { err: error });
          process.exit(1);
        },
      );
    });
  }
  await operations.listen({ host: settings.operations.host, port: settings.operations.port });
  await app.listen(settings.http.port, settings.http.host);
  const address = `http://${host(settings.http.host)}:${(app.getHttpServer().address() as AddressInfo).port}`;
  log.info(`listening on ${address}`, {
    api: `${address}/api/docs`,
    operations: `http://${host(settings.operations.host)}:${(operations.server.address() as AddressInfo).port}`,
    ...(settings.production
      ? {}
      : { first_administrator: 'npx --no grantline users create-admin --username NAME --email ADDRESS' }),
  });
}

/** As one would type it: `localhost` for loopback, brackets for IPv6. */
function host(name: string): string {
  if (name === '127.0.0.1') return 'localhost';
  return name.includes(':') ? `[${name}]` : name;
}
