import type { Writable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { Timers } from '../kernel/clock.js';
import type { AuthenticatedUser } from '../platform/http/access.js';
import { Log } from '../platform/log/log.js';
import { RowLoop } from './domain/row-loop.js';
import { QueriesService } from './queries.service.js';
import { RowStream, RowTurns, type StreamSource } from './row-stream.js';
import type { RowsPage } from './domain/held-page.js';

/** Milliseconds in which readers can take the last pieces when the service stops. */
const LAST_PIECES = 3_000;

/** The open streams of rows: each is followed until it is closed, and all are ended when the service stops. */
@Injectable()
export class RowStreams {
  private readonly open = new Map<Writable, Promise<void>>();
  private readonly turns = new RowTurns();
  private isStopping = false;

  constructor(
    private readonly queries: QueriesService,
    private readonly loop: RowLoop,
    private readonly timers: Timers,
    private readonly log: Log,
  ) {}

  /**
   * An answer that begins with that page of a user's query.
   * @param rest a stream continues with the following pages; `is-late`: its first one has taken longer than a page may
   */
  begin(first: RowsPage, user: AuthenticatedUser, id: string, rest: 'none' | 'follows' | 'is-late'): RowStream {
    const source = rest === 'none' ? null : this.source(user, id);
    return new RowStream(first, source, this.loop, () => this.turns.next(user.username), rest === 'is-late');
  }

  /** The pages of one user's query; the session is checked as they are read. */
  private source(user: AuthenticatedUser, id: string): StreamSource {
    return {
      stop: async () => {
        if (this.isStopping) return 'stopping';
        return (await user.isStillAdmitted()) ? null : 'session-ended';
      },
      more: (from) => this.queries.rows(user, id, from, Infinity),
      abandon: () => this.queries.abandon(user, id),
    };
  }

  /** Releases the stream's memory when the response is closed, and ends its query if it was not read to its end. */
  follow(stream: RowStream, response: Writable): void {
    const closed = new Promise<void>((resolve) => {
      if (response.closed) resolve();
      else response.once('close', resolve);
    });
    const ended = closed
      .then(() => stream.close())
      .catch((error: unknown) => {
        this.log.warn('abandoned query could not be cancelled', {
          reason: error instanceof Error ? error.message : 'unknown',
        });
      })
      .finally(() => this.open.delete(response));
    this.open.set(response, ended);
  }

  /** Ends every stream: with an error for readers that still read, by breaking off the others. */
  async stop(): Promise<void> {
    this.isStopping = true;
    const all = (): Promise<unknown> => Promise.all(this.open.values());
    await this.timers.atMost(LAST_PIECES, all());
    for (const response of this.open.keys()) response.destroy();
    await all();
  }
}
