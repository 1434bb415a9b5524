import { Client, type ClientConfig } from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';
import type { LogMarker } from '../../kernel/log-marker.js';
import { Secret } from '../../kernel/secret.js';
import { hasCluster } from './embedded-cluster.js';
import { type EmbeddedDatabase, joinEmbeddedPostgres } from './embedded-postgres.js';
import type { Settings } from '../settings/settings.js';

/** The URL of the database for the service's role, with the password. */
export class DatabaseUrl extends Secret {}

/** The database in use: the configured one, or the embedded one, which may stop after `release`. */
export interface Database extends EmbeddedDatabase {
  /** A name to display, without the password. */
  name: string;
}

interface Opening {
  /** Whether a missing embedded database is created. */
  mayCreate: boolean;
  report: (line: LogMarker) => void;
}

/** @throws Error with a readable message if the embedded database cannot start, or is missing and may not be created. */
export async function openDatabase(
  { database: { url, migrationUrl }, dataDir }: Settings,
  { mayCreate, report }: Opening,
): Promise<Database> {
  if (url !== null && migrationUrl !== null) {
    const addresses = { url: url.reveal(), migrationUrl: migrationUrl.reveal() };
    const failure = new Promise<never>(() => undefined);
    return { name: databaseName(addresses.url), ...addresses, failure, release: () => Promise.resolve() };
  }
  if (!mayCreate && !hasCluster(dataDir)) {
    throw new Error(
      `there is no database in ${dataDir}, and none is made by a command that needs what is recorded: ` +
        'run it in the folder of the service, or set DATA_DIR or DATABASE_URL',
    );
  }
  return { name: `the embedded one in ${dataDir}`, ...(await joinEmbeddedPostgres(dataDir, report)) };
}

/** `grantline@db.example.org:5432/grantline` */
function databaseName(url: string): string {
  const { username, hostname, port, pathname } = new URL(url);
  const name = pathname.length > 1 ? pathname.slice(1) : username;
  return decodeURIComponent(`${username === '' ? '' : `${username}@`}${hostname}:${port || '5432'}/${name}`);
}

/** Connection options for a URL. A function returns the password, so that no copy of the options shows it. */
export function postgresConnection(url: string): ClientConfig {
  const { password, ...connection } = parseIntoClientConfig(url);
  return typeof password === 'string' ? { ...connection, password: () => password } : connection;
}

const READ_TIMEOUT = 'Query read timeout';

/**
 * A connection that has an error listener from the start. The pool and TypeORM add and remove theirs, and an error in between, as from
 * a terminated backend, would end the process. Here the connection's next query fails with it.
 *
 * After a query timed out the connection is closed: the driver drops the transaction's ROLLBACK and TypeORM returns the connection to the
 * pool, so the next request would commit the first half of that transaction.
 */
export class PooledClient extends Client {
  constructor(config?: string | ClientConfig) {
    super(config);
    this.on('error', () => undefined);
    this.query = this.closeWhenLate(this.query.bind(this));
  }

  private closeWhenLate(query: Client['query']): Client['query'] {
    return new Proxy(query, {
      apply: (target, self, parameters: unknown[]): unknown => {
        const result: unknown = Reflect.apply(target, self, parameters);
        if (result instanceof Promise) {
          result.catch((error: unknown) => {
            if (!(error instanceof Error) || error.message !== READ_TIMEOUT) return;
            void this.end(); // the pool sees that it is closed and does not use it again
            this.connection.stream.destroy();
          });
        }
        return result;
      },
    });
  }
}
