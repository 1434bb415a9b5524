import type { RowsFormat } from './rows-format.js';

/** Kinds of columns, by how their values are copied: `plain` and `float` without quotes but for texts, `digits` in quotes, others not at all. */
export const COPIED = { plain: 0, digits: 1, float: 2, other: 3 } as const;

/**
 * How a pass over rows ended: all are written; a value is not written as it came; or the rows are broken: what is no JSON, a row with
 * another number of values, one that is not a list.
 */
export type PassEnd = 'written' | 'value' | 'no-json' | 'other-count' | 'no-list';

/** Rows that were found at once: how many, where they end, and of them what JsonScanner would say of each. */
export interface FoundRows {
  count: number;
  end: number;
  heaviest: number;
}

/** The loops over the bytes of rows. To find and to write never wait, and of passes there is one at a time. */
export abstract class RowLoop {
  /**
   * Finds whole rows with commas between them, from the beginning of one on, up to the row with which they are so many bytes or more.
   * @param most bytes, some ten thousand
   * @returns fewer, or none: the next one is for JsonScanner
   */
  abstract find(bytes: Buffer, from: number, most: number): FoundRows;
  /** Where in the rows the value is that the pass has stopped at, and which column's. */
  abstract readonly place: number;
  abstract readonly column: number;
  /**
   * Begins a pass, which writes rows: what JSON.stringify would write as it came is copied.
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
