import type { Column } from './domain/engine-type.js';
import type { ApiValue } from './domain/engine-value.js';
import type { Claim, PageBudget } from './domain/page-budget.js';
import type { QueryError } from './domain/query.js';
import { ProtocolBreach } from './domain/reading.js';
import { RowEncoder } from './domain/row-encoder.js';
import type { RowLoop } from './domain/row-loop.js';
import { ROW_TEXT, type RowsFormat } from './domain/rows-format.js';
import type { HeldPage } from './held-pages.js';

/** Rows for one reader, to be released once they have been sent or will not be. */
export interface RowsPage {
  columns: readonly Column[];
  length: number;
  /** The rows as bytes of an answer, a piece at a time. @throws ProtocolBreach for a value that its column's type cannot have. */
  pieces(format: RowsFormat, loop: RowLoop): Iterable<Buffer>;
  /** The cursor of the next page; null: this was the last one. */
  next: number | null;
  /** Counts the bytes that the answer itself holds until it has been sent. */
  claim(bytes: number): Claim;
  release(): void;
}

/** `gone`: older than the newest page. `unknown-place`: no answer named it. `not-found`: this user has no such query. */
export type RowsResult =
  | { kind: 'page'; page: RowsPage }
  | { kind: 'ended'; error: QueryError; state: 'failed' | 'cancelled' }
  | { kind: 'gone' | 'unknown-place' | 'not-found' };

/** The rows of a held page from … up to before …, with the cursor of the next page. */
export interface RowRange {
  columns: readonly Column[];
  from: number;
  to: number;
  next: number | null;
}

/** A page whose rows take no memory worth counting. */
export function smallPage(columns: readonly Column[], rows: readonly ApiValue[][], next: number | null): RowsPage {
  const pieces = (format: RowsFormat): Buffer[] => rows.map((row) => Buffer.from(ROW_TEXT[format](row)));
  return { columns, length: rows.length, pieces, next, claim: () => 'granted', release: () => undefined };
}

/** Rows of a page, which stays in memory and counted until they are released. @param onBreach before ProtocolBreach is thrown. */
export function rowsOfHeldPage(held: HeldPage, range: RowRange, budget: PageBudget, onBreach: () => void): RowsPage {
  const leave = held.charge.retain();
  const answer = budget.open(held.charge.owner);
  let isReleased = false;
  return {
    columns: range.columns,
    length: range.to - range.from,
    pieces: (format, loop) => pieces(held, range, new RowEncoder(range.columns, format, loop), onBreach),
    next: range.next,
    claim: (bytes) => (isReleased ? 'granted' : answer.atLeast(bytes)),
    release: () => {
      leave();
      if (!isReleased) answer.release();
      isReleased = true;
    },
  };
}

function* pieces(
  { rows, start }: HeldPage,
  { from, to }: RowRange,
  encoder: RowEncoder,
  onBreach: () => void,
): Generator<Buffer, void, undefined> {
  try {
    for (const piece of rows.pieces(from - start, to - start, encoder.atOnce)) yield encoder.encode(piece);
  } catch (error) {
    if (error instanceof ProtocolBreach) onBreach();
    throw error;
  }
}
