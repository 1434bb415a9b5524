import { Refused } from '../kernel/errors.js';
import type { ApiValue } from './domain/engine-value.js';
import type { Claim } from './domain/page-budget.js';
import { csvLine, publicColumns, type RowsFormat } from './domain/rows-format.js';
import { writeRowCursor } from './domain/row-window.js';
import type { Rows } from './queries.service.js';
import { type QueryErrorResponse, toQueryErrorResponse } from './query.response.js';
import type { RowsPage } from './row-reader.js';

/** Why a stream may not go on, though its query could. */
export type StreamStop = 'session-ended' | 'stopping';

/** What a stream asks for while it goes on. */
export interface StreamSource {
  /** Asked before anything is handed out. Null: it may go on. */
  stop(): Promise<StreamStop | null>;
  more(from: number): Promise<Rows>;
  /** Nobody reads the query any more. */
  abandon(): Promise<void>;
}

/** A stream that cannot be ended well: whoever reads it must not take it for whole. */
export class BrokenOff extends Error {
  override readonly name = 'BrokenOff';
}

type Stop = Exclude<Rows, { kind: 'page' }> | { kind: StreamStop };
type Part = { kind: 'rows'; rows: readonly ApiValue[][] } | Stop;

/** A piece of an answer takes its bytes twice: one waits in the stream while another is in the socket. */
const PIECES_AT_ONCE = 2;

/**
 * One answer with rows on its way, made as its reader takes it: a piece in memory beside the page that is held, whatever
 * the page's size. A stream that ends before its query does, because its reader has gone or must, ends the query.
 */
export class RowStream {
  private page: RowsPage;
  /** Nothing is left to abandon: the rows have ended, or another reads on. */
  private isOver: boolean;

  /** @param source null: one page is all that was asked for. */
  constructor(
    first: RowsPage,
    private readonly source: StreamSource | null,
  ) {
    this.page = first;
    this.isOver = source === null;
  }

  /** The answer's bytes. @throws Refused when there is no room for them. @throws RowsBroken @throws BrokenOff */
  async *bytes(format: RowsFormat): AsyncGenerator<Buffer, void, undefined> {
    for await (const text of FORMATS[format](this.page, this.parts())) {
      const bytes = Buffer.from(text);
      const claim = this.page.claim(bytes.length * PIECES_AT_ONCE);
      if (claim !== 'granted') throw noRoom(claim);
      yield bytes;
    }
  }

  /** The response has been closed, by whomever. */
  async close(): Promise<void> {
    this.page.release();
    if (this.isOver) return;
    this.isOver = true;
    await this.source?.abandon();
  }

  /** The pieces of all pages up to the last one, or up to what stood in their way. */
  private async *parts(): AsyncGenerator<Part, void, undefined> {
    for (;;) {
      for (const rows of this.page.pieces) {
        const stop = (await this.source?.stop()) ?? null;
        if (stop !== null) return yield { kind: stop };
        yield { kind: 'rows', rows };
      }
      const { next } = this.page;
      if (next === null || this.source === null) break;
      const stop = await this.source.stop();
      if (stop !== null) return yield { kind: stop };
      const outcome = await this.source.more(next);
      if (outcome.kind !== 'page') {
        this.isOver = true;
        return yield outcome;
      }
      this.page.release();
      this.page = outcome.page;
    }
    this.isOver = true;
  }
}

type Writer = (first: RowsPage, parts: AsyncIterable<Part>) => AsyncGenerator<string, void, undefined>;

const FORMATS: Readonly<Record<RowsFormat, Writer>> = {
  async *json({ columns, next }, parts) {
    yield `{"columns":${JSON.stringify(publicColumns(columns))},"rows":[`;
    let isFirst = true;
    for await (const part of parts) {
      if (part.kind !== 'rows') continue;
      yield (isFirst ? '' : ',') + part.rows.map((row) => JSON.stringify(row)).join(',');
      isFirst = false;
    }
    yield `],"next":${next === null ? 'null' : JSON.stringify(writeRowCursor(next))}}`;
  },
  /** A line of columns, a line for each row, and a last line that says what went wrong, if something did. */
  async *ndjson({ columns }, parts) {
    yield `${JSON.stringify({ columns: publicColumns(columns) })}\n`;
    for await (const part of parts) {
      if (part.kind === 'rows') yield part.rows.map((row) => `${JSON.stringify(row)}\n`).join('');
      else yield `${JSON.stringify({ error: errorOf(part) })}\n`;
    }
  },
  /** With a header (RFC 4180). It has no place for an error, so it is broken off, never ended cleanly. */
  async *csv({ columns }, parts) {
    yield csvLine(columns.map(({ name }) => name));
    for await (const part of parts) {
      if (part.kind !== 'rows') throw new BrokenOff('the query did not come to its end');
      yield part.rows.map(csvLine).join('');
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
      return plainError('page_gone', 'Somebody else read on.');
  }
}

function plainError(code: string, message: string): QueryErrorResponse {
  return { code, message, engine_error_name: null, line: null, column: null };
}

function noRoom(claim: Exclude<Claim, 'granted'>): Refused {
  return new Refused(claim === 'share' ? 'too_many_unread_rows' : 'busy', { retryAfter: 5 });
}
