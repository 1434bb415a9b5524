import { Client, type ClientConfig } from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';
import type { LogMarker } from '../../kernel/log-marker.js';
import { Secret } from '../../kernel/secret.js';
import { hasCluster } from './embedded-cluster.js';
import { type EmbeddedDatabase, joinEmbeddedPostgres } from './embedded-postgres.js';
import type { Settings } from '../settings/settings.js';

/** The URL of the database for the service's role, with the password. */
export class DatabaseUrl extends Secret {}

/** The database in use: the configured one, or the embedded one. The embedded one may stop after `release`. */
export interface Database extends EmbeddedDatabase {
  /** The database as messages name it: user, host, port and database, without the password. */
  name: string;
}

/** Returns the configured database, or joins the embedded one. @param mayCreate whether a missing embedded database is created
 * @throws Error with a readable message if the embedded database cannot start, or is missing and may not be created. */
export async function openDatabase(
  { database: { url, migrationUrl }, dataDir }: Settings,
  { mayCreate, report }: { mayCreate: boolean; report: (line: LogMarker) => void },
): Promise<Database> {
  if (url !== null && migrationUrl !== null) {
    const urls = { url: url.reveal(), migrationUrl: migrationUrl.reveal() };
    const neverFails = new Promise<never>(() => undefined);
    return { name: databaseName(urls.url), ...urls, failure: neverFails, release: () => Promise.resolve() };
  }
  if (!mayCreate && !hasCluster(dataDir)) {
    throw new Error(
      `there is no database in ${dataDir}, and none is made by a command that needs what is recorded: ` +
        'run it in the folder of the service, or set DATA_DIR or DATABASE_URL',
    );
  }
  return { name: `the embedded one in ${dataDir}`, ...(await joinEmbeddedPostgres(dataDir, report)) };
}

/** A name to display, such as `grantline@db.example.org:5432/grantline`. */
function databaseName(url: string): string {
  const { username, hostname, port, pathname } = new URL(url);
  const name = pathname.length > 1 ? pathname.slice(1) : username;
  return decodeURIComponent(`${username === '' ? '' : `${username}@`}${hostname}:${port || '5432'}/${name}`);
}

/** Connection options for a URL. The password is a function that returns it, so that a printed copy of the options does not show it. */
export function postgresConnection(url: string): ClientConfig {
  const { password, ...connection } = parseIntoClientConfig(url);
  return typeof password === 'string' ? { ...connection, password: () => password } : connection;
}

const READ_TIMEOUT_MESSAGE = 'Query read timeout';

/**
 * A connection with an error listener of its own: the pool and TypeORM remove theirs at times, and an error without a listener would end
 * the process. The connection is closed when a query times out. Otherwise the driver would drop the transaction's ROLLBACK, TypeORM would
 * return the connection to the pool, and the next request would commit the first half of that transaction.
 */
export class PooledClient extends Client {
  constructor(config?: string | ClientConfig) {
    super(config);
    this.on('error', () => undefined);
    this.query = this.closeAfterTimeout(this.query.bind(this));
  }

  private closeAfterTimeout(query: Client['query']): Client['query'] {
    return new Proxy(query, {
      apply: (target, self, parameters: unknown[]): unknown => {
        const result: unknown = Reflect.apply(target, self, parameters);
        if (result instanceof Promise) {
          result.catch((error: unknown) => {
            if (!(error instanceof Error) || error.message !== READ_TIMEOUT_MESSAGE) return;
            void this.end(); // the pool does not use a closed connection again
            this.connection.stream.destroy();
          });
        }
        return result;
      },
    });
  }
}
