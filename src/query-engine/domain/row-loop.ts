import type { RowsFormat } from './rows-format.js';

/** Kinds of columns, by how their values are copied: `plain` and `float` without quotes but for texts, `digits` in quotes, others not at all. */
export const COPIED = { plain: 0, digits: 1, float: 2, other: 3 } as const;

/**
 * How a pass over rows ended: all are written; a value is not written as it came; or the rows are broken: what is no JSON, a row with
 * another number of values, one that is not a list.
 */
export type PassEnd = 'written' | 'value' | 'no-json' | 'other-count' | 'no-list';

/** The loop over the bytes of rows, which copies what JSON.stringify would write as it came. One pass at a time, never waiting. */
export abstract class RowLoop {
  /** Where in the rows the value is that the pass has stopped at, and which column's. */
  abstract readonly place: number;
  abstract readonly column: number;
  /**
   * @param rows with commas between them, UTF-8
   * @param kinds of the columns, one of COPIED each
   * @returns null: more than it has room for
   */
  abstract begin(rows: Uint8Array, kinds: Uint8Array, format: RowsFormat): PassEnd | null;
  /** Goes on behind a value of so many bytes, for which that text is written. @returns null: more than it has room for */
  abstract resume(read: number, text: string): PassEnd | null;
  /** All that has been written, a copy. */
  abstract written(): Buffer;
}
