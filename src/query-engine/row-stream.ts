import { setImmediate } from 'node:timers';
import { csvLine } from '../kernel/csv.js';
import { NamedError, Refused } from '../kernel/errors.js';
import { FairQueue } from '../kernel/fair-queue.js';
import { errorBy } from './domain/query.js';
import { ProtocolBreach } from './domain/reading.js';
import type { RowLoop } from './domain/row-loop.js';
import { writeRowCursor } from './domain/row-window.js';
import { publicColumns, type RowsFormat } from './domain/rows-format.js';
import { queryProblem, type QueryErrorResponse, toQueryErrorResponse } from './query.response.js';
import type { Claim, RowsPage, RowsResult } from './domain/held-page.js';

/** Why a stream ends before its query does. */
export type StreamStop = 'session-ended' | 'stopping';

/** Where a stream gets its further pages. */
export interface StreamSource {
  /** Called for each page but the first, which the request itself was admitted for, and each further mebibyte. Null: the stream may continue. */
  stop(): Promise<StreamStop | null>;
  more(from: number): Promise<RowsResult>;
  /** The reader has gone: ends the query. */
  abandon(): Promise<void>;
}

/** A stream whose format has no place for an error: its connection is broken off, so that it is not taken for complete. */
export class TruncatedStream extends NamedError {}

type Stop = Exclude<RowsResult, { kind: 'page' }> | { kind: StreamStop };
type Part = { kind: 'rows'; bytes: Buffer } | Stop;

/** While one piece is in the socket, the next one waits in the stream. */
const PIECES_AT_ONCE = 2;

/** A stream asks again whether it may continue after so many bytes of them. */
const BYTES_BETWEEN_STOPS = 1_048_576;

/** Pieces of rows are made one at a time, by people in turns, and whatever else waits is dealt with before the next one. */
export class RowTurns {
  private readonly queue = new FairQueue(1, Infinity);

  /** Resolves when the next piece of that person may be made: at once, without waiting for anything. */
  async next(person: string): Promise<void> {
    const place = this.queue.enter(person);
    if (place === null) return; // never: there is no end of places
    await this.queue.turn(place);
    setImmediate(() => {
      this.queue.done(place);
      this.queue.leave(place);
    });
  }
}

/**
 * One answer with rows, made as its reader takes it: a piece in memory beside the page that is held, whatever the page's
 * size. A stream that ends before its query does ends the query.
 */
export class RowStream {
  private page: RowsPage;
  /** Nothing is left to abandon: the rows have ended, or another reader continues. */
  private isOver: boolean;

  /**
   * @param source null: the answer is one page
   * @param turn resolves when the next piece may be made
   * @param isLate whether it must be asked even for the first page if the stream may continue
   */
  constructor(
    first: RowsPage,
    private readonly source: StreamSource | null,
    private readonly loop: RowLoop,
    private readonly turn: () => Promise<void>,
    private readonly isLate = false,
  ) {
    this.page = first;
    this.isOver = source === null;
  }

  /**
   * The answer's bytes.
   * @param together so many of the first parts are kept until they are sent together
   * @throws Refused for want of memory, and for broken values. @throws TruncatedStream
   */
  async *bytes(format: RowsFormat, together: number): AsyncGenerator<Buffer, void, undefined> {
    let kept = 0;
    let count = 0;
    try {
      for await (const bytes of FORMATS[format](this.page, this.parts(format))) {
        count += 1;
        if (count <= together) kept += bytes.length;
        const claim = this.page.claim(Math.max(kept, bytes.length * PIECES_AT_ONCE));
        if (claim !== 'granted') throw memoryProblem(claim);
        yield bytes;
      }
    } catch (error) {
      throw error instanceof ProtocolBreach ? queryProblem('failed', errorBy('engine_protocol_error')) : error;
    }
  }

  /** The response has been closed, by either side. */
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
        const asked = isDue ? this.source?.stop() : null;
        const [stop, piece] = await Promise.all([asked, this.turn().then(() => pieces.next())]);
        if (stop !== undefined && stop !== null) return yield { kind: stop };
        if (piece.done === true) break;
        left -= piece.value.length;
        yield { kind: 'rows', bytes: piece.value };
      }
      const { next } = this.page;
      if (next === null || this.source === null) break;
      this.page.release(); // its rows are written, and the next page may need the room
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
    yield Buffer.from(`],"next":${next === null ? 'null' : JSON.stringify(writeRowCursor(next))}}`);
  },
  /** A line of columns, a line for each row, and a last line with the error, if there is one. */
  async *ndjson({ columns }, parts) {
    yield Buffer.from(`${JSON.stringify({ columns: publicColumns(columns) })}\n`);
    for await (const part of parts) {
      yield part.kind === 'rows' ? part.bytes : Buffer.from(`${JSON.stringify({ error: errorOf(part) })}\n`);
    }
  },
  /** With a header (RFC 4180). It has no place for an error, so it is never ended cleanly then. */
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

function memoryProblem(claim: Exclude<Claim, 'granted'>): Refused {
  return new Refused(claim === 'share' ? 'too_many_unread_rows' : 'busy', { retryAfter: 5 });
}
