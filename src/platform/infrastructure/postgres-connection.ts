import type { ClientConfig } from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';

/** How a pool reaches the database of a URL. The password is handed over by a function, so that no copy of the options shows it. */
export function postgresConnection(url: string): ClientConfig {
  const { password, ...connection } = parseIntoClientConfig(url);
  return typeof password === 'string' ? { ...connection, password: () => password } : connection;
}
