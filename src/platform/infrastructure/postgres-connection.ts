import { Client, type ClientConfig } from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';

/** How a pool reaches the database of a URL. The password is returned by a function, so that no copy of the options shows it. */
export function postgresConnection(url: string): ClientConfig {
  const { password, ...connection } = parseIntoClientConfig(url);
  return typeof password === 'string' ? { ...connection, password: () => password } : connection;
}

/**
 * A connection that has an error listener from the start. The pool and TypeORM add theirs in turns; an error in between, as
 * from a terminated backend, would end the process. The next query of the connection fails with it.
 */
export class PooledClient extends Client {
  constructor(config?: string | ClientConfig) {
    super(config);
    this.on('error', () => undefined);
  }
}
