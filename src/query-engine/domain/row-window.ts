/** The cursor of a row: how many rows precede it, as opaque text. */
export function writeRowCursor(row: number): string {
  return Buffer.from(String(row)).toString('base64url');
}

/** Null: no cursor of ours. */
export function readRowCursor(text: string): number | null {
  const digits = Buffer.from(text, 'base64url').toString('latin1');
  const row = /^\d{1,15}$/.test(digits) ? Number(digits) : null;
  return row !== null && writeRowCursor(row) === text ? row : null;
}

/**
 * A reader may ask for the next page, or for the newest one again, whose answer may have been lost. Older pages have left
 * the engine and are not stored. `unknown-place`: no answer has named that row.
 */
export type Asked = 'next' | 'newest' | 'gone' | 'unknown-place';

export function judgeAsked(row: number, newestFrom: number, rowsReturned: number): Asked {
  if (row === rowsReturned) return 'next';
  if (row === newestFrom) return 'newest';
  return row < rowsReturned ? 'gone' : 'unknown-place';
}

/** The rows of one page of the engine. `start`: how many rows came before it. */
export interface PageSpan {
  start: number;
  rows: { readonly length: number };
}

export function covers(page: PageSpan, row: number): boolean {
  return row >= page.start && row < page.start + page.rows.length;
}

/** Where a page that begins at `from` ends, and why. `maxRows` 0: no limit. */
export function cutPage(
  from: number,
  limit: number,
  held: PageSpan,
  maxRows: number,
): { to: number; reached: 'limit' | 'end-of-page' | 'max-rows' } {
  const end = held.start + held.rows.length;
  const to = Math.min(from + limit, end, maxRows === 0 ? Infinity : maxRows);
  if (maxRows !== 0 && to >= maxRows) return { to, reached: 'max-rows' };
  return { to, reached: to === end ? 'end-of-page' : 'limit' };
}
