import type { Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { Timers } from '../kernel/clock.js';
import { csvLine } from '../kernel/csv.js';
import { NamedError, Refused } from '../kernel/errors.js';
import { cursorOf } from '../kernel/page.js';
import type { AuthenticatedUser } from '../platform/http/access.js';
import { Log } from '../platform/log/log.js';
import type { RowsPage, RowsResult } from './domain/held-page.js';
import { errorOfCode } from './domain/query.js';
import { ProtocolBreach } from './domain/reading.js';
import { RowLoop, type RowsFormat } from './domain/row-loop.js';
import { publicColumns } from './domain/row-encoder.js';
import { queryProblem, type QueryErrorResponse, toQueryErrorResponse } from './queries.dto.js';
import { QueriesService } from './queries.service.js';

/** Milliseconds within which readers can take the last pieces when the service stops. */
const LAST_PIECES = 3_000;

/** Tracks open streams of rows until they are closed, and ends all when the service stops. */
@Injectable()
export class RowStreams {
  private readonly open = new Map<Writable, Promise<void>>();
  private lastTurn: Promise<unknown> = Promise.resolve();
  private isStopping = false;

  constructor(
    private readonly queries: QueriesService,
    private readonly loop: RowLoop,
    private readonly timers: Timers,
    private readonly log: Log,
  ) {}

  /**
   * An answer that begins with a page of a user's query.
   * @param rest `none`: only this page. `follows`: a stream of all pages. `is-late`: the same, and the first page took longer than one may
   */
  begin(first: RowsPage, user: AuthenticatedUser, id: string, rest: 'none' | 'follows' | 'is-late'): RowStream {
    const source = rest === 'none' ? null : this.sourceOf(user, id);
    return new RowStream(first, source, this.loop, () => this.untilTurn(), rest === 'is-late');
  }

  /** Resolves when the next piece of rows may be made. Pieces are made one after the other, with other requests in between. */
  private untilTurn(): Promise<unknown> {
    const turn = this.lastTurn;
    this.lastTurn = turn.then(() => setImmediate());
    return turn;
  }

  /** The source of a stream's further pages, which checks the user's session as they are read. */
  private sourceOf(user: AuthenticatedUser, id: string): StreamSource {
    return {
      stopReason: async () => {
        if (this.isStopping) return 'stopping';
        return (await user.isStillAdmitted()) ? null : 'session-ended';
      },
      more: (from) => this.queries.rows(user, id, from, Infinity),
      abandon: () => this.queries.cancel(user, id, 'query_abandoned'),
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

  /** Ends every stream: with an error if its reader still reads, otherwise by breaking it off. */
  async stop(): Promise<void> {
    this.isStopping = true;
    const all = (): Promise<unknown> => Promise.all(this.open.values());
    await this.timers.waitAtMost(LAST_PIECES, all());
    for (const response of this.open.keys()) response.destroy();
    await all();
  }
}

/** Why a stream ends before its query does. */
type StreamStop = 'session-ended' | 'stopping';

/** Source of a stream's further pages. */
interface StreamSource {
  /** Called for each further mebibyte and each page except the first, which the request's admission covers. Null: the stream may continue. */
  stopReason(): Promise<StreamStop | null>;
  more(from: number): Promise<RowsResult>;
  /** Ends the query, because its reader has gone. */
  abandon(): Promise<unknown>;
}

/** Breaks off the connection of a stream whose format cannot express an error, so that the result does not look complete. */
class TruncatedStream extends NamedError {}

type Stop = Exclude<RowsResult, { kind: 'page' }> | { kind: StreamStop };
type Part = { kind: 'rows'; bytes: Buffer } | Stop;

/** The most pieces in memory: one in the socket and one in the stream. */
const PIECES_AT_ONCE = 2;

/** Bytes after which a stream checks again whether it may continue. */
const BYTES_BETWEEN_STOPS = 1_048_576;

/**
 * One answer with rows, made as its reader takes it, with one piece in memory besides the held page. A stream that ends before its query
 * ends the query.
 */
export class RowStream {
  private page: RowsPage;
  /** Whether nothing is left to abandon: the rows have ended, or another reader continues. */
  private isOver: boolean;

  /**
   * @param source null: the answer is one page
   * @param turn resolves when the next piece may be made
   * @param isLate the first page came too late for the request's admission, so the session is checked again before the first piece
   */
  constructor(
    first: RowsPage,
    private readonly source: StreamSource | null,
    private readonly loop: RowLoop,
    private readonly turn: () => Promise<unknown>,
    private readonly isLate = false,
  ) {
    this.page = first;
    this.isOver = source === null;
  }

  /**
   * The answer's bytes.
   * @param together the number of first parts that the caller collects to send them together
   * @throws Refused if memory is short, and for broken values. @throws TruncatedStream
   */
  async *bytes(format: RowsFormat, together: number): AsyncGenerator<Buffer, void, undefined> {
    let kept = 0;
    let count = 0;
    try {
      for await (const bytes of FORMATS[format](this.page, this.parts(format))) {
        count += 1;
        if (count <= together) kept += bytes.length;
        const claim = this.page.claim(Math.max(kept, bytes.length * PIECES_AT_ONCE));
        if (claim !== 'granted')
          throw new Refused(claim === 'share' ? 'too_many_unread_rows' : 'busy', { retryAfter: 5 });
        yield bytes;
      }
    } catch (error) {
      throw error instanceof ProtocolBreach ? queryProblem('failed', errorOfCode('engine_protocol_error')) : error;
    }
  }

  /** Called when either side has closed the response. */
  async close(): Promise<void> {
    this.page.release();
    if (this.isOver) return;
    this.isOver = true;
    await this.source?.abandon();
  }

  /** The pieces of all pages up to the last one, or up to a stop. */
  private async *parts(format: RowsFormat): AsyncGenerator<Part, void, undefined> {
    for (let isAdmitted = !this.isLate; ; isAdmitted = false) {
      const pieces = this.page.pieces(format, this.loop)[Symbol.iterator]();
      for (let left = isAdmitted ? BYTES_BETWEEN_STOPS : 0; ;) {
        const isDue = left <= 0;
        if (isDue) left = BYTES_BETWEEN_STOPS;
        const asked = isDue ? this.source?.stopReason() : null;
        const [stop, piece] = await Promise.all([asked, this.turn().then(() => pieces.next())]);
        if (stop !== undefined && stop !== null) return yield { kind: stop };
        if (piece.done === true) break;
        left -= piece.value.length;
        yield { kind: 'rows', bytes: piece.value };
      }
      const { next } = this.page;
      if (next === null || this.source === null) break;
      this.page.release(); // the rows are written, and the next page may need the memory
      const outcome = await this.source.more(next);
      if (outcome.kind !== 'page') {
        this.isOver = true;
        return yield outcome;
      }
      this.page = outcome.page;
    }
    this.isOver = true;
  }
}

type Writer = (first: RowsPage, parts: AsyncIterable<Part>) => AsyncGenerator<Buffer, void, undefined>;

const FORMATS: Readonly<Record<RowsFormat, Writer>> = {
  async *json({ columns, next }, parts) {
    yield Buffer.from(`{"columns":${JSON.stringify(publicColumns(columns))},"rows":[`);
    let isFirst = true;
    for await (const part of parts) {
      if (part.kind !== 'rows') continue;
      yield isFirst ? part.bytes.subarray(1) : part.bytes;
      isFirst = false;
    }
    yield Buffer.from(`],"next":${next === null ? 'null' : JSON.stringify(cursorOf(next))}}`);
  },
  /** A line of columns, a line for each row, and a last line with the error, if there is one. */
  async *ndjson({ columns }, parts) {
    yield Buffer.from(`${JSON.stringify({ columns: publicColumns(columns) })}\n`);
    for await (const part of parts) {
      yield part.kind === 'rows' ? part.bytes : Buffer.from(`${JSON.stringify({ error: errorOf(part) })}\n`);
    }
  },
  /** CSV by RFC 4180 with a header. It cannot express an error, so a failed stream is broken off. */
  async *csv({ columns }, parts) {
    yield Buffer.from(csvLine(columns.map(({ name }) => name)));
    for await (const part of parts) {
      if (part.kind !== 'rows') throw new TruncatedStream('the query ended early');
      yield part.bytes;
    }
  },
};

function errorOf(stop: Stop): QueryErrorResponse {
  switch (stop.kind) {
    case 'ended':
      return toQueryErrorResponse(stop.error);
    case 'session-ended':
      return plainError('token_invalid', 'The session has ended.');
    case 'stopping':
      return plainError('busy', 'The service is stopping; run the query again.');
    case 'gone':
    case 'unknown-place':
    case 'not-found':
      return plainError('page_gone', 'Another reader has read on.');
  }
}

function plainError(code: string, message: string): QueryErrorResponse {
  return { code, message, engine_error_name: null, line: null, column: null };
}
