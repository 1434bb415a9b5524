import { csvLine, publicColumns } from './domain/rows-format.js';
import type { Rows } from './queries.service.js';
import { toQueryErrorResponse } from './query.response.js';
import type { RowsPage } from './row-reader.js';

type NextRows = (from: number) => Promise<Rows>;

/** A stream that cannot be ended well: whoever reads it must not take it for whole. */
export class BrokenOff extends Error {
  override readonly name = 'BrokenOff';
}

/**
 * `application/x-ndjson`: a line of columns, a line for each row, and a last line that says what went wrong, if
 * something did. Pages are asked for as the reader takes them.
 */
export async function* ndjson(first: RowsPage, more: NextRows): AsyncGenerator<string, void, undefined> {
  yield `${JSON.stringify({ columns: publicColumns(first.columns) })}\n`;
  for await (const outcome of pages(first, more)) {
    if (outcome.kind === 'page') yield outcome.page.rows.map((row) => `${JSON.stringify(row)}\n`).join('');
    else yield `${JSON.stringify({ error: errorOf(outcome) })}\n`;
  }
}

/** `text/csv` with a header (RFC 4180). It has no place for an error, so it is broken off, never ended cleanly. */
export async function* csv(first: RowsPage, more: NextRows): AsyncGenerator<string, void, undefined> {
  yield csvLine(first.columns.map(({ name }) => name));
  for await (const outcome of pages(first, more)) {
    if (outcome.kind !== 'page') throw new BrokenOff('the query did not come to its end');
    yield outcome.page.rows.map(csvLine).join('');
  }
}

/** The pages up to the last one, or up to what stood in their way. Empty ones are left out. */
async function* pages(first: RowsPage, more: NextRows): AsyncGenerator<Rows, void, undefined> {
  let page = first;
  for (;;) {
    if (page.rows.length > 0) yield { kind: 'page', page };
    if (page.next === null) return;
    const outcome = await more(page.next);
    if (outcome.kind !== 'page') {
      yield outcome;
      return;
    }
    page = outcome.page;
  }
}

function errorOf(outcome: Exclude<Rows, { kind: 'page' }>): unknown {
  if (outcome.kind === 'ended') return toQueryErrorResponse(outcome.error);
  return { code: 'page_gone', message: 'Somebody else read on.', engine_error_name: null, line: null, column: null };
}
