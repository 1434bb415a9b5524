import { Client, type ClientConfig } from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';
import type { LogMarker } from '../../kernel/log-marker.js';
import { Secret } from '../../kernel/secret.js';
import { hasCluster } from './embedded-cluster.js';
import { type EmbeddedDatabase, joinEmbeddedPostgres } from './embedded-postgres.js';
import type { Settings } from '../settings/settings.js';

/** How the service's role reaches the database in use; the password is in it. */
export class DatabaseUrl extends Secret {}

/** The database in use: the configured one, or the embedded one, which may stop after its `release`. */
export interface Database extends EmbeddedDatabase {
  /** To be shown; without a password. */
  name: string;
}

interface Opening {
  /** An embedded database that is not there is made. */
  mayCreate: boolean;
  report: (line: LogMarker) => void;
}

/** @throws Error with a readable message when the embedded database cannot start, or is not there and may not be made. */
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

/** How a pool reaches the database of a URL. The password is returned by a function, so that no copy of the options shows it. */
export function postgresConnection(url: string): ClientConfig {
  const { password, ...connection } = parseIntoClientConfig(url);
  return typeof password === 'string' ? { ...connection, password: () => password } : connection;
}

const READ_TIMEOUT = 'Query read timeout';

/**
 * A connection that has an error listener from the start. The pool and TypeORM add theirs in turns; an error in between, as
 * from a terminated backend, would end the process. The next query of the connection fails with it.
 *
 * The driver forgets a query that timed out, and TypeORM returns its connection to the pool: in the middle of a transaction
 * whose ROLLBACK was dropped, so that the next request would commit its first half. So that connection is closed.
 */
export class PooledClient extends Client {
  constructor(config?: string | ClientConfig) {
    super(config);
    this.on('error', () => undefined);
    this.query = this.closingWhenLate(this.query.bind(this));
  }

  private closingWhenLate(query: Client['query']): Client['query'] {
    return new Proxy(query, {
      apply: (target, self, parameters: unknown[]): unknown => {
        const result: unknown = Reflect.apply(target, self, parameters);
        if (result instanceof Promise) {
          result.catch((error: unknown) => {
            if (!(error instanceof Error) || error.message !== READ_TIMEOUT) return;
            void this.end(); // from now on the pool takes it for closed, and gives it to nobody
            this.connection.stream.destroy();
          });
        }
        return result;
      },
    });
  }
}
