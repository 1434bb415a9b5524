import { connect } from 'node:net';
import { Client, type ClientConfig } from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';
import type { LogMarker } from '../../kernel/log-marker.js';
import { Secret } from '../../kernel/secret.js';
import { hasCluster } from './embedded-cluster.js';
import { joinEmbeddedPostgres } from './embedded-postgres.js';
import type { Settings } from '../settings/settings.js';

/** How the service's role reaches the database in use; the password is in it. */
export class DatabaseUrl extends Secret {}

/** The database in use: the configured one, or the embedded one, which may stop after its `release`. */
export interface Database {
  /** To be shown; without a password. */
  name: string;
  url: string;
  migrationUrl: string;
  /** Rejects when the embedded database is given up. */
  failure: Promise<never>;
  release(): Promise<void>;
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

/** Milliseconds until a connection that owes an answer makes its process ask whether the server answers at all, and for that. */
const SILENCE = { patience: 2_000, probe: 1_500 };

/**
 * A connection that has an error listener from the start. The pool and TypeORM add theirs in turns; an error in between, as
 * from a terminated backend, would end the process. The next query of the connection fails with it.
 *
 * A statement may take its time, but not on a server that answers nobody (frozen, or behind a network that is gone): while
 * an answer is owed, the server is asked on another connection, and without an answer there this one is closed.
 */
export class PooledClient extends Client {
  private watch: NodeJS.Timeout | null = null;

  constructor(config?: string | ClientConfig) {
    super(config);
    this.on('error', () => undefined);
    this.on('drain', () => this.endWatch());
    this.on('end', () => this.endWatch());
    this.query = this.watched(this.query.bind(this));
  }

  /**
   * The driver forgets a query that timed out, and TypeORM returns its connection to the pool: in the middle of a transaction
   * whose ROLLBACK was dropped, so that the next request would commit its first half. So that connection is closed.
   */
  private watched(query: Client['query']): Client['query'] {
    return new Proxy(query, {
      apply: (target, self, parameters: unknown[]): unknown => {
        this.watch ??= this.nextLook();
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

  private nextLook(): NodeJS.Timeout {
    return setTimeout(() => void this.look(), SILENCE.patience).unref();
  }

  private async look(): Promise<void> {
    const looking = this.watch;
    const answers = await serverAnswers(this);
    if (this.watch !== looking) return; // answered meanwhile
    if (answers) this.watch = this.nextLook();
    else this.connection.stream.destroy();
  }

  private endWatch(): void {
    if (this.watch !== null) clearTimeout(this.watch);
    this.watch = null;
  }
}

/**
 * Whether anything is answered to a request for TLS, with which a connection may begin: a new process of the server does that,
 * before it asks who it is, and without a log line. Asked twice, for this process may have been busy itself.
 */
async function serverAnswers(server: { host: string; port: number }): Promise<boolean> {
  return (await answersOnce(server)) || (await answersOnce(server));
}

/** SSLRequest: its length and its code (PostgreSQL, "Message Formats"). */
const SSL_REQUEST = Buffer.from('0000000804d2162f', 'hex');

function answersOnce({ host, port }: { host: string; port: number }): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
    const late = setTimeout(() => settle(false), SILENCE.probe).unref();
    const settle = (answers: boolean): void => {
      clearTimeout(late);
      socket.destroy();
      resolve(answers);
    };
    socket.on('error', () => undefined);
    socket.once('close', () => settle(false));
    socket.once('data', () => settle(true));
    socket.write(SSL_REQUEST);
  });
}
