import type { Writable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { SessionsService } from '../auth/sessions.service.js';
import { Timers } from '../kernel/timers.js';
import type { AuthenticatedUser } from '../platform/access.js';
import { Log } from '../platform/log.js';
import { QueriesService } from './queries.service.js';
import type { RowStream, StreamSource } from './row-stream.js';

/** Milliseconds that readers have for what is on its way to them when the service stops. */
const LAST_PIECES = 3_000;

/** The answers with rows that are on their way: followed until they are closed, and all ended when the service stops. */
@Injectable()
export class RowStreams {
  private readonly open = new Map<Writable, Promise<void>>();
  private isStopping = false;

  constructor(
    private readonly queries: QueriesService,
    private readonly sessions: SessionsService,
    private readonly timers: Timers,
    private readonly log: Log,
  ) {}

  /** What a stream of one person's query is made from; the session is asked before each piece. */
  source(user: AuthenticatedUser, id: string): StreamSource {
    return {
      stop: async () => {
        if (this.isStopping) return 'stopping';
        return (await this.sessions.isLive(user)) ? null : 'session-ended';
      },
      more: (from) => this.queries.rows(user, id, from, Infinity),
      abandon: () => this.queries.abandon(user, id),
    };
  }

  /** Until the response is closed: then the stream's memory is released, and its query ended if nobody will read on. */
  follow(stream: RowStream, response: Writable): void {
    const closed = new Promise<void>((resolve) => {
      if (response.closed) resolve();
      else response.once('close', resolve);
    });
    const ended = closed
      .then(() => stream.close())
      .catch((error: unknown) => {
        this.log.warn('a query could not be abandoned', { reason: error instanceof Error ? error.message : 'unknown' });
      })
      .finally(() => this.open.delete(response));
    this.open.set(response, ended);
  }

  /** Ends every stream: with a last word where its reader reads, without one where it does not. */
  async stop(): Promise<void> {
    this.isStopping = true;
    const all = (): Promise<unknown> => Promise.all(this.open.values());
    const enough = new AbortController();
    await Promise.race([all(), this.timers.wait(LAST_PIECES, enough.signal).catch(() => undefined)]);
    enough.abort();
    for (const response of this.open.keys()) response.destroy();
    await all();
  }
}
