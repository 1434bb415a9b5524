import type { EngineFaultKind } from './engine-error.js';
import type { Column } from './engine-type.js';
import type { ApiValue } from './engine-value.js';
import type { PageRows } from './page-rows.js';
import type { Ending, QueryError } from './query.js';
import { ProtocolBreach } from './reading.js';
import { ROW_TO_TEXT, RowEncoder } from './row-encoder.js';
import type { RowLoop, RowsFormat } from './row-loop.js';

/** The outcome of a claim of bytes. `share`: the claim would exceed the owner's share. `full`: it would exceed the whole budget. */
export type ClaimOutcome = 'granted' | 'share' | 'full';

/** An owner's share is the whole budget divided by this number. */
const SHARES_IN_BUDGET = 6;

/** Byte budget of this replica for pages and answers, with a hard share for each user. Unread pages are never dropped to make room. */
export class ByteBudget {
  readonly maxOwnerBytes: number;
  private readonly bytesByOwner = new Map<string, number>();
  private heldBytes = 0;

  /**
   * @param maxBytes bytes for all owners together
   * @param minOwnerBytes the smallest size of an owner's share, also if the budget is small
   * @param releaseReadPages called when an owner's share is used up, to release the owner's pages that have been read to their end
   */
  constructor(
    private readonly maxBytes: number,
    minOwnerBytes: number,
    private readonly releaseReadPages: (owner: string) => void = () => undefined,
  ) {
    this.maxOwnerBytes = Math.max(minOwnerBytes, Math.floor(maxBytes / SHARES_IN_BUDGET));
  }

  get bytes(): number {
    return this.heldBytes;
  }

  reserve(owner: string): Reservation {
    return new Reservation(owner, this);
  }

  /** Claims more bytes for an owner. Only Reservation calls this method. */
  claim(owner: string, bytes: number): ClaimOutcome {
    if (this.bytesOf(owner) + bytes > this.maxOwnerBytes) this.releaseReadPages(owner);
    if (this.bytesOf(owner) + bytes > this.maxOwnerBytes) return 'share';
    if (this.heldBytes + bytes > this.maxBytes) return 'full';
    this.addBytes(owner, bytes);
    return 'granted';
  }

  /** Counts bytes as held by an owner; negative numbers release bytes. Only Reservation calls this method. */
  addBytes(owner: string, bytes: number): void {
    const ownerBytes = this.bytesOf(owner) + bytes;
    this.heldBytes += bytes;
    if (ownerBytes === 0) this.bytesByOwner.delete(owner);
    else this.bytesByOwner.set(owner, ownerBytes);
  }

  private bytesOf(owner: string): number {
    return this.bytesByOwner.get(owner) ?? 0;
  }
}

/** The bytes that one page or answer occupies in the budget. */
export class Reservation {
  private bytes = 0;

  constructor(
    readonly owner: string,
    private readonly budget: ByteBudget,
  ) {}

  /** Raises a smaller reservation to a total of `bytes`; leaves a larger one unchanged. */
  raiseTo(bytes: number): ClaimOutcome {
    if (bytes <= this.bytes) return 'granted';
    const outcome = this.budget.claim(this.owner, bytes - this.bytes);
    if (outcome === 'granted') this.bytes = bytes;
    return outcome;
  }

  /** Whether this reservation and `bytes` more exceed the owner's share, even if the owner holds nothing else. */
  exceedsShareWith(bytes: number): boolean {
    return this.bytes + bytes > this.budget.maxOwnerBytes;
  }

  release(): void {
    this.budget.addBytes(this.owner, -this.bytes);
    this.bytes = 0;
  }
}

/** Rows for one reader. They must be released after they are sent, or when the reader gives up. */
export interface RowsPage {
  columns: readonly Column[];
  length: number;
  /** The rows as bytes of an answer, a piece at a time. @throws ProtocolBreach for a value that its column's type cannot have. */
  pieces(format: RowsFormat, loop: RowLoop): Iterable<Buffer>;
  /** The cursor of the next page; null on the last page. */
  next: number | null;
  /**
   * Raises the answer's reserved memory to a total of `bytes`, until `release`. `too-large`: `neededBytes`, the least that any answer with
   * these rows needs at once, never have room beside the page.
   */
  claim(bytes: number, neededBytes: number): ClaimOutcome | 'too-large';
  /** Must be called once the beginning of the answer has memory. The rows then count as sent. */
  confirm(): void;
  /** Must be called if the answer is refused before it was begun. The rows then wait for another request. */
  refuse(): void;
  release(): void;
}

/** How an answer with rows of a page goes on. */
export interface AnswerEvents {
  onFault(kind: EngineFaultKind): void;
  onConfirmed?(): void;
  onRefused?(): void;
}

/** Result of a request for rows. `gone`: the rows are older than the newest page. `unknown-place`: no answer contained the cursor. `not-found`: not a query of the user. */
export type RowsResult =
  | { kind: 'page'; page: RowsPage }
  | { kind: 'ended'; error: QueryError; state: 'failed' | 'cancelled' }
  | { kind: 'gone' | 'unknown-place' | 'not-found' };

/** Makes a page of at most one row, without reserving memory for the page. */
export function uncountedPage(columns: readonly Column[], rows: readonly ApiValue[][], next: number | null): RowsPage {
  const pieces = (format: RowsFormat): Buffer[] => rows.map((row) => Buffer.from(ROW_TO_TEXT[format](row)));
  const nothing = (): void => undefined;
  const answer = { claim: () => 'granted' as const, confirm: nothing, refuse: nothing, release: nothing };
  return { columns, length: rows.length, pieces, next, ...answer };
}

/** The rows of a query that has ended, beginning with row `startRow`. */
export function rowsOfEndedQuery(
  ending: Ending,
  { columns, rowsReturned }: { columns: readonly Column[] | null; rowsReturned: number },
  startRow: number,
): RowsResult {
  if (ending.state !== 'finished') return { kind: 'ended', state: ending.state, error: ending.error };
  const hasUpdateCount = startRow === 0 && ending.updateCount !== null && columns?.length === 1;
  if (!hasUpdateCount && startRow !== rowsReturned) return { kind: 'gone' };
  const rows = hasUpdateCount ? [[String(ending.updateCount)]] : [];
  return { kind: 'page', page: uncountedPage(columns ?? [], rows, null) };
}

/** Decides which page begins with `row`. `newest`: the last page again. `gone`: an earlier page. `unknown-place`: a row not yet reached. */
export function judgeFirstRow(
  row: number,
  newestPageStart: number,
  rowsReturned: number,
): 'next' | 'newest' | 'gone' | 'unknown-place' {
  if (row === rowsReturned) return 'next';
  if (row === newestPageStart) return 'newest';
  return row < rowsReturned ? 'gone' : 'unknown-place';
}

/** Rows from `startRow` up to but excluding `endRow`, with the cursor of the next page. */
export interface RowRange {
  startRow: number;
  endRow: number;
  next: number | null;
}

/** A page of the engine in memory. Its bytes count in the budget until the query's execution and all readers of the page have released it. */
export class HeldPage {
  private holderCount = 1;
  /** Whether an answer with rows of the page was made, but not confirmed. */
  isUnsent = false;

  /** @param startRow the number of the query's rows before this page */
  constructor(
    readonly startRow: number,
    readonly rows: PageRows,
    private readonly reservation: Reservation,
    private readonly budget: ByteBudget,
  ) {}

  /** The number of the query's rows up to the end of this page. */
  get endRow(): number {
    return this.startRow + this.rows.length;
  }

  /** Whether the page has a reader. One holder is the query's execution. */
  get isBeingRead(): boolean {
    return this.holderCount > 1;
  }

  /** Whether the page has a reader, or one that was refused memory and may repeat the request. */
  get isNeeded(): boolean {
    return this.isBeingRead || this.isUnsent;
  }

  coversRow(row: number): boolean {
    return row >= this.startRow && row < this.endRow;
  }

  /** Where an answer that begins at row `firstRow` ends, and why. @param limit the request's limit @param maxRows the query's limit; 0: none */
  endFrom(
    firstRow: number,
    limit: number,
    maxRows: number,
  ): { toRow: number; reason: 'limit' | 'end-of-page' | 'max-rows' } {
    const toRow = Math.min(firstRow + limit, this.endRow, maxRows === 0 ? Infinity : maxRows);
    if (maxRows !== 0 && toRow >= maxRows) return { toRow, reason: 'max-rows' };
    return { toRow, reason: toRow === this.endRow ? 'end-of-page' : 'limit' };
  }

  /** Rows of the page for a reader. `onFault` is called before ProtocolBreach is thrown. */
  rowsForReader({ startRow, endRow, next }: RowRange, columns: readonly Column[], events: AnswerEvents): RowsPage {
    this.holderCount += 1;
    this.isUnsent = true;
    const answerReservation = this.budget.reserve(this.reservation.owner);
    let isReleased = false;
    return {
      columns,
      length: endRow - startRow,
      pieces: (format, loop) =>
        this.pieces(startRow, endRow, new RowEncoder(columns, format, loop), () => events.onFault('protocol')),
      next,
      claim: (bytes, neededBytes) => {
        const outcome = isReleased ? 'granted' : answerReservation.raiseTo(bytes);
        if (outcome !== 'share' || !this.reservation.exceedsShareWith(neededBytes)) return outcome;
        events.onFault('too-large');
        return 'too-large';
      },
      confirm: () => {
        this.isUnsent = false;
        events.onConfirmed?.();
      },
      refuse: () => events.onRefused?.(),
      release: () => {
        if (!isReleased) this.release();
        isReleased = true;
        answerReservation.release();
      },
    };
  }

  /** Ends the execution's use of the page. Must be called only once. */
  release(): void {
    this.holderCount -= 1;
    if (this.holderCount === 0) this.reservation.release();
  }

  private *pieces(
    fromRow: number,
    toRow: number,
    encoder: RowEncoder,
    onBreach: () => void,
  ): Generator<Buffer, void, undefined> {
    const { startRow, rows } = this;
    try {
      for (const piece of rows.pieces(fromRow - startRow, toRow - startRow)) yield* encoder.encode(piece);
    } catch (error) {
      if (error instanceof ProtocolBreach) onBreach();
      throw error;
    }
  }
}
