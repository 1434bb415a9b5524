import { Client, type ClientConfig } from 'pg';

/**
 * A connection that somebody listens to from its first moment. The pool and TypeORM do so by turns; an error that comes in between,
 * as from a terminated backend, would end the process. Whoever asks the connection next has the error.
 */
export class PooledClient extends Client {
  constructor(config?: string | ClientConfig) {
    super(config);
    this.on('error', () => undefined);
  }
}
