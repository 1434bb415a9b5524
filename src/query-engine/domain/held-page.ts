import type { Column } from './engine-type.js';
import type { ApiValue } from './engine-value.js';
import type { PageRows } from './page-rows.js';
import type { Ending, QueryError } from './query.js';
import { ProtocolBreach } from './reading.js';
import { ROW_TEXT, RowEncoder } from './row-encoder.js';
import type { RowLoop, RowsFormat } from './row-loop.js';

/** The outcome of a claim. `share`: the owner's share is used up. `full`: the whole budget is used up. */
export type Claim = 'granted' | 'share' | 'full';

/** The number of owners whose shares fill the budget. */
const OWNERS = 6;

/** Byte budget of this replica for pages and answers, with a hard share for each user. Unread pages are never dropped for others. */
export class ByteBudget {
  private readonly share: number;
  private readonly byOwner = new Map<string, number>();
  private held = 0;

  /**
   * @param most bytes for all owners together
   * @param largestPage bytes that each share has at least
   * @param reclaim called when an owner's share is used up, to release the owner's pages that have been read to their end
   */
  constructor(
    private readonly most: number,
    largestPage: number,
    private readonly reclaim: (owner: string) => void = () => undefined,
  ) {
    this.share = Math.max(largestPage, Math.floor(most / OWNERS));
  }

  /** Bytes that are held now. */
  get bytes(): number {
    return this.held;
  }

  /** An empty reservation. */
  reserve(owner: string): Reservation {
    return new Reservation(owner, this);
  }

  /** Claims more bytes. Called by reservations. */
  claim(owner: string, bytes: number): Claim {
    if (this.bytesOf(owner) + bytes > this.share) this.reclaim(owner);
    if (this.bytesOf(owner) + bytes > this.share) return 'share';
    if (this.held + bytes > this.most) return 'full';
    this.add(owner, bytes);
    return 'granted';
  }

  /** Adds bytes, or gives them back if negative. Called by reservations. */
  add(owner: string, bytes: number): void {
    const mine = this.bytesOf(owner) + bytes;
    this.held += bytes;
    if (mine === 0) this.byOwner.delete(owner);
    else this.byOwner.set(owner, mine);
  }

  private bytesOf(owner: string): number {
    return this.byOwner.get(owner) ?? 0;
  }
}

/** The bytes of one page or answer in the budget. */
export class Reservation {
  private bytes = 0;

  constructor(
    readonly owner: string,
    private readonly budget: ByteBudget,
  ) {}

  /** Raises the reservation to a number of bytes, if it is lower. */
  raiseTo(bytes: number): Claim {
    if (bytes <= this.bytes) return 'granted';
    const claim = this.budget.claim(this.owner, bytes - this.bytes);
    if (claim === 'granted') this.bytes = bytes;
    return claim;
  }

  release(): void {
    this.budget.add(this.owner, -this.bytes);
    this.bytes = 0;
  }
}

/** Rows for one reader, who must release them after sending them or giving up. */
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

/** `gone`: the rows are older than the newest page. `unknown-place`: no answer named the cursor. `not-found`: no such query of this user. */
export type RowsResult =
  | { kind: 'page'; page: RowsPage }
  | { kind: 'ended'; error: QueryError; state: 'failed' | 'cancelled' }
  | { kind: 'gone' | 'unknown-place' | 'not-found' };

/** A page with so few rows that their memory is not counted. */
export function uncountedPage(columns: readonly Column[], rows: readonly ApiValue[][], next: number | null): RowsPage {
  const pieces = (format: RowsFormat): Buffer[] => rows.map((row) => Buffer.from(ROW_TEXT[format](row)));
  return { columns, length: rows.length, pieces, next, claim: () => 'granted', release: () => undefined };
}

/** The rows of a query that has ended, beginning with row `from`. */
export function rowsOfEndedQuery(
  ending: Ending,
  { columns, rowsReturned }: { columns: readonly Column[] | null; rowsReturned: number },
  from: number,
): RowsResult {
  if (ending.state !== 'finished') return { kind: 'ended', state: ending.state, error: ending.error };
  const hasCount = from === 0 && ending.updateCount !== null && columns?.length === 1;
  if (!hasCount && from !== rowsReturned) return { kind: 'gone' };
  return { kind: 'page', page: uncountedPage(columns ?? [], hasCount ? [[String(ending.updateCount)]] : [], null) };
}

/**
 * The page that begins with a row. A reader may ask for the next page, or again for the newest one, whose answer may have been lost.
 * Older pages are `gone`: the engine has dropped them. `unknown-place`: no answer has named that row.
 */
export function judgeFirstRow(
  row: number,
  newestFrom: number,
  rowsReturned: number,
): 'next' | 'newest' | 'gone' | 'unknown-place' {
  if (row === rowsReturned) return 'next';
  if (row === newestFrom) return 'newest';
  return row < rowsReturned ? 'gone' : 'unknown-place';
}

/** Rows from `from` up to but excluding `to`, with the cursor of the next page. */
export interface RowRange {
  from: number;
  to: number;
  next: number | null;
}

/** A page of the engine in memory. Its bytes are counted until the execution and all of its readers have released it. */
export class HeldPage {
  private holders = 1;

  /** @param start the number of the query's rows before this page */
  constructor(
    readonly start: number,
    readonly rows: PageRows,
    private readonly reservation: Reservation,
    private readonly budget: ByteBudget,
  ) {}

  /** The number of the query's rows up to the end of this page. */
  get end(): number {
    return this.start + this.rows.length;
  }

  /** Whether a reader has not yet released the page's rows. */
  get isBeingRead(): boolean {
    return this.holders > 1;
  }

  covers(row: number): boolean {
    return row >= this.start && row < this.end;
  }

  /** Where an answer that begins at `from` ends, and why. @param maxRows the query's limit; 0: no limit */
  endOf(from: number, limit: number, maxRows: number): { to: number; reached: 'limit' | 'end-of-page' | 'max-rows' } {
    const to = Math.min(from + limit, this.end, maxRows === 0 ? Infinity : maxRows);
    if (maxRows !== 0 && to >= maxRows) return { to, reached: 'max-rows' };
    return { to, reached: to === this.end ? 'end-of-page' : 'limit' };
  }

  /** Rows of the page for a reader. @param onBreach called before ProtocolBreach is thrown */
  read({ from, to, next }: RowRange, columns: readonly Column[], onBreach: () => void): RowsPage {
    this.holders += 1;
    const answer = this.budget.reserve(this.reservation.owner);
    let isReleased = false;
    return {
      columns,
      length: to - from,
      pieces: (format, loop) => this.pieces(from, to, new RowEncoder(columns, format, loop), onBreach),
      next,
      claim: (bytes) => (isReleased ? 'granted' : answer.raiseTo(bytes)),
      release: () => {
        if (!isReleased) this.release();
        isReleased = true;
        answer.release();
      },
    };
  }

  /** Called once by the execution. */
  release(): void {
    this.holders -= 1;
    if (this.holders === 0) this.reservation.release();
  }

  private *pieces(
    from: number,
    to: number,
    encoder: RowEncoder,
    onBreach: () => void,
  ): Generator<Buffer, void, undefined> {
    const { start, rows } = this;
    try {
      for (const piece of rows.pieces(from - start, to - start)) yield encoder.encode(piece);
    } catch (error) {
      if (error instanceof ProtocolBreach) onBreach();
      throw error;
    }
  }
}
