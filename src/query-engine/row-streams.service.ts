import type { Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { Timers } from '../kernel/clock.js';
import { csvLine } from '../kernel/csv.js';
import { ERRORS, NamedError, Refused } from '../kernel/errors.js';
import { cursorOf } from '../kernel/page.js';
import type { AuthenticatedUser } from '../platform/http/access.js';
import { refusalOfFailure } from '../platform/http/problem.js';
import { Log } from '../platform/log/log.js';
import { EngineFault } from './domain/engine-error.js';
import type { RowsPage, RowsResult } from './domain/held-page.js';
import { errorOfFault, RETRY_AFTER } from './domain/query.js';
import { ProtocolBreach } from './domain/reading.js';
import { RowLoop, type RowsFormat } from './domain/row-loop.js';
import { publicColumns } from './domain/row-encoder.js';
import { queryProblem, type QueryErrorResponse, toQueryErrorResponse } from './queries.dto.js';
import { QueriesService } from './queries.service.js';

/** Milliseconds that readers have for the last pieces when the service stops. */
const DRAIN_TIME = 3_000;

/** Tracks open streams of rows until they are closed, and ends all when the service stops. */
@Injectable()
export class RowStreams {
  private readonly openResponses = new Map<Writable, Promise<void>>();
  private nextSlot: Promise<unknown> = Promise.resolve();
  private isStopping = false;

  constructor(
    private readonly queries: QueriesService,
    private readonly loop: RowLoop,
    private readonly timers: Timers,
    private readonly log: Log,
  ) {}

  /**
   * Begins an answer with a page of a user's query.
   * @param rest `none`: only this page. `follows`: all pages. `is-late`: all pages, of which the first took longer than a request may wait
   */
  begin(page: RowsPage, user: AuthenticatedUser, id: string, rest: 'none' | 'follows' | 'is-late'): RowStream {
    const source = rest === 'none' ? null : this.sourceOf(user, id);
    const callbacks: StreamCallbacks = {
      waitForSlot: () => this.waitForSlot(),
      logFailure: ({ code, cause }) => this.log.error('request failed', { query_id: id, code, err: cause }),
    };
    return new RowStream(page, source, this.loop, callbacks, rest === 'is-late');
  }

  /** Pieces are made one after the other, with other requests in between. */
  private waitForSlot(): Promise<unknown> {
    const slot = this.nextSlot;
    this.nextSlot = slot.then(() => setImmediate());
    return slot;
  }

  /** The source of a stream's further pages, which checks the user's session as they are read. */
  private sourceOf(user: AuthenticatedUser, id: string): StreamSource {
    return {
      stopReason: async () => {
        if (this.isStopping) return 'stopping';
        return (await user.isStillAdmitted()) ? null : 'session-ended';
      },
      rowsFrom: (startRow) => this.queries.rows(user, id, startRow, Infinity),
      abandon: () => this.queries.cancel(user, id, 'query_abandoned'),
    };
  }

  /** Releases the stream's memory when the response is closed. Also ends the stream's query if not all rows were sent. */
  endWithResponse(stream: RowStream, response: Writable): void {
    const responseClosed = new Promise<void>((resolve) => {
      if (response.closed) resolve();
      else response.once('close', resolve);
    });
    const streamClosed = responseClosed
      .then(() => stream.close())
      .catch((error: unknown) => {
        this.log.warn('abandoned query could not be cancelled', {
          reason: error instanceof Error ? error.message : 'unknown',
        });
      })
      .finally(() => this.openResponses.delete(response));
    this.openResponses.set(response, streamClosed);
  }

  /** Ends all streams. After `isStopping` is set, a stream that is still read ends itself. After DRAIN_TIME the remaining connections are closed. */
  async stop(): Promise<void> {
    this.isStopping = true;
    const waitForAll = (): Promise<unknown> => Promise.all(this.openResponses.values());
    await this.timers.waitAtMost(DRAIN_TIME, waitForAll());
    for (const response of this.openResponses.keys()) response.destroy();
    await waitForAll();
  }
}

/** Why the service ends a stream before all rows are sent. */
type StopReason = 'session-ended' | 'stopping';

interface StreamSource {
  /** Why the stream must stop; null: the stream may continue. Called after each mebibyte of rows, and before the rows of each further page. */
  stopReason(): Promise<StopReason | null>;
  rowsFrom(startRow: number): Promise<RowsResult>;
  /** Ends the query, because its reader has gone. */
  abandon(): Promise<unknown>;
}

interface StreamCallbacks {
  /** Resolves when the next piece of rows may be made. */
  waitForSlot(): Promise<unknown>;
  /** Called for a failure within the service after the answer has begun; an earlier one is thrown. */
  logFailure(refusal: Refused): void;
}

/** Thrown to break off a stream whose format cannot express an error, so that the result does not look complete. */
class TruncatedStream extends NamedError {}

type StreamEnd = Exclude<RowsResult, { kind: 'page' }> | { kind: StopReason };
type StreamPart = { kind: 'rows'; bytes: Buffer } | StreamEnd;

/** The most bytes of first parts that are collected before they are sent. */
export const MAX_BYTES_AT_ONCE = 2_359_296;

/** Bytes after which a stream checks again whether it may continue. */
const BYTES_BETWEEN_CHECKS = 1_048_576;

/**
 * One answer with rows, made piece by piece as its reader receives it. The page and at most two pieces are in memory. If the response
 * is closed before all rows are sent, the query is ended.
 */
export class RowStream {
  private page: RowsPage;
  /** Whether `close` leaves the query as it is: all rows were sent, the answer is only one page, or another reader continues. */
  private isFinished: boolean;
  /** `given-back`: no row was sent, and the first page waits for another request. */
  private state: 'waiting' | 'begun' | 'given-back' = 'waiting';

  /**
   * @param source null: the answer is one page
   * @param isLate whether the first page took so long that the session may have ended; it is checked again before the first piece
   */
  constructor(
    firstPage: RowsPage,
    private readonly source: StreamSource | null,
    private readonly loop: RowLoop,
    private readonly callbacks: StreamCallbacks,
    private readonly isLate = false,
  ) {
    this.page = firstPage;
    this.isFinished = source === null;
  }

  /**
   * The answer's bytes, in parts. An NDJSON stream that has begun ends with a line for its error.
   * @param partsAtOnce how many of the first parts the caller collects before it sends them, if they have less than MAX_BYTES_AT_ONCE
   * @throws Refused if memory is short, or if the engine breaks its protocol; TruncatedStream if the format cannot tell that the query ended early
   */
  async *bytes(format: RowsFormat, partsAtOnce: number): AsyncGenerator<Buffer, void, undefined> {
    let [partCount, heldBytes, isInRow] = [0, 0, false];
    try {
      for await (const bytes of WRITERS[format](this.page, this.parts(format))) {
        // In memory are the collected first parts; later one part in the socket and one in the stream.
        this.claim(heldBytes, bytes.length);
        heldBytes = this.state === 'begun' ? bytes.length : heldBytes + bytes.length;
        isInRow = !endsRow(bytes);
        partCount += 1;
        if (partCount >= partsAtOnce || heldBytes >= MAX_BYTES_AT_ONCE) this.begin();
        yield bytes;
      }
      this.begin();
    } catch (error) {
      const fault = error instanceof ProtocolBreach ? 'protocol' : error instanceof EngineFault ? error.kind : null;
      const queryError = fault === null ? null : errorOfFault(fault);
      const refusal = queryError === null ? refusalOfFailure(error) : queryProblem('failed', queryError);
      const isFailure = refusal.cause !== undefined && !(error instanceof TruncatedStream);
      if (this.state === 'begun' && isFailure) this.callbacks.logFailure(refusal);
      if (format !== 'ndjson' || this.state !== 'begun') throw refusal;
      if (isInRow) yield Buffer.from('\n');
      yield errorLine(queryError === null ? errorOfRefusal(refusal) : toQueryErrorResponse(queryError));
    }
  }

  /** @throws Refused if memory is short; EngineFault if the page can never be sent */
  private claim(heldBytes: number, partBytes: number): void {
    const bytes = heldBytes + partBytes;
    // A request for fewer rows does without the collected parts, but the reader of a stream always holds the part before.
    const outcome = this.page.claim(bytes, this.state === 'begun' ? bytes : partBytes);
    if (outcome === 'granted') return;
    if (outcome === 'too-large') throw new EngineFault('too-large', 'an answer of more than a share');
    this.giveBack();
    throw new Refused(outcome === 'share' ? 'too_many_unread_rows' : 'busy', { retryAfter: RETRY_AFTER });
  }

  /** Releases the page, and ends an unfinished query of which rows were sent. Called when either side has closed the response. */
  async close(): Promise<void> {
    this.giveBack();
    this.page.release();
    const isAbandoned = this.state === 'begun' && !this.isFinished;
    this.isFinished = true;
    if (isAbandoned) await this.source?.abandon();
  }

  private begin(): void {
    if (this.state !== 'waiting') return;
    this.state = 'begun';
    this.page.confirm();
  }

  private giveBack(): void {
    if (this.state !== 'waiting') return;
    this.state = 'given-back';
    this.page.refuse();
  }

  /** The pieces of all pages. Ends early if the stream must stop. */
  private async *parts(format: RowsFormat): AsyncGenerator<StreamPart, void, undefined> {
    for (let isAdmitted = !this.isLate; ; isAdmitted = false) {
      const pieces = this.page.pieces(format, this.loop)[Symbol.iterator]();
      for (let [bytesUntilCheck, isInRow] = [isAdmitted ? BYTES_BETWEEN_CHECKS : 0, false]; ;) {
        const isCheckDue = bytesUntilCheck <= 0 && !isInRow;
        if (isCheckDue) bytesUntilCheck = BYTES_BETWEEN_CHECKS;
        const stopCheck = isCheckDue ? this.source?.stopReason() : null;
        const [stopReason, nextPiece] = await Promise.all([
          stopCheck,
          this.callbacks.waitForSlot().then(() => pieces.next()),
        ]);
        if (stopReason !== undefined && stopReason !== null) return yield { kind: stopReason };
        if (nextPiece.done === true) break;
        bytesUntilCheck -= nextPiece.value.length;
        isInRow = !endsRow(nextPiece.value);
        yield { kind: 'rows', bytes: nextPiece.value };
      }
      const { next } = this.page;
      if (next === null || this.source === null) break;
      this.page.release(); // the rows are written, and the next page may need the memory
      const rowsResult = await this.source.rowsFrom(next);
      if (rowsResult.kind !== 'page') {
        this.isFinished = true;
        return yield rowsResult;
      }
      if (this.isFinished) {
        rowsResult.page.release(); // `close` ran meanwhile, and runs only once
        return;
      }
      this.page = rowsResult.page;
      this.page.confirm();
      if (rowsResult.page.next === null && rowsResult.page.length === 0) break; // no rows follow for which to check the session
    }
    this.isFinished = true;
  }
}

type Writer = (firstPage: RowsPage, parts: AsyncIterable<StreamPart>) => AsyncGenerator<Buffer, void, undefined>;

const WRITERS: Readonly<Record<RowsFormat, Writer>> = {
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
      yield part.kind === 'rows' ? part.bytes : errorLine(errorOfEnd(part));
    }
  },
  /** CSV by RFC 4180 with a header. CSV cannot express an error, so a failed stream is broken off. */
  async *csv({ columns }, parts) {
    yield Buffer.from(csvLine(columns.map(({ name }) => name)));
    for await (const part of parts) {
      if (part.kind !== 'rows') throw new TruncatedStream('the query ended early');
      yield part.bytes;
    }
  },
};

/** Whether a piece ends with a row, which is a line. */
const endsRow = (bytes: Buffer): boolean => bytes.at(-1) === 0x0a;

function errorLine(error: QueryErrorResponse): Buffer {
  return Buffer.from(`${JSON.stringify({ error })}\n`);
}

/** The public part of an error that is not the query's. */
function errorOfRefusal({ code }: Refused): QueryErrorResponse {
  return plainError(code, `${ERRORS[code].text}.`);
}

function errorOfEnd(streamEnd: StreamEnd): QueryErrorResponse {
  switch (streamEnd.kind) {
    case 'ended':
      return toQueryErrorResponse(streamEnd.error);
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
