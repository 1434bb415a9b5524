import type { Column } from './engine-type.js';
import type { ApiValue } from './engine-value.js';
import type { PageRows } from './page-rows.js';
import type { Ending, QueryError } from './query.js';
import { ProtocolBreach } from './reading.js';
import { RowEncoder } from './row-encoder.js';
import type { RowLoop } from './row-loop.js';
import { ROW_TEXT, type RowsFormat } from './rows-format.js';

/** `share`: the owner's share is used up. `full`: all of the bytes are held. */
export type Claim = 'granted' | 'share' | 'full';

/** Owners that fill the whole together. */
const OWNERS = 6;

/** The bytes that pages and answers of this replica may hold, with a hard share for each owner: no page is dropped for another one that is unread. */
export class HeldBytes {
  private readonly share: number;
  private readonly byOwner = new Map<string, number>();
  private held = 0;

  /**
   * @param most bytes in all
   * @param largestPage bytes that one owner can hold at least
   * @param makeRoom called where an owner's share is used up: gives up pages of that owner that have been read to their end
   */
  constructor(
    private readonly most: number,
    largestPage: number,
    private readonly makeRoom: (owner: string) => void = () => undefined,
  ) {
    this.share = Math.max(largestPage, Math.floor(most / OWNERS));
  }

  /** Bytes that are held now. */
  get bytes(): number {
    return this.held;
  }

  open(owner: string): Room {
    return new Room(owner, this);
  }

  /** For rooms: takes so many bytes more. */
  claim(owner: string, bytes: number): Claim {
    if (this.of(owner) + bytes > this.share) this.makeRoom(owner);
    if (this.of(owner) + bytes > this.share) return 'share';
    if (this.held + bytes > this.most) return 'full';
    this.add(owner, bytes);
    return 'granted';
  }

  /** For rooms: gives bytes back where they are negative. */
  add(owner: string, bytes: number): void {
    const mine = this.of(owner) + bytes;
    this.held += bytes;
    if (mine === 0) this.byOwner.delete(owner);
    else this.byOwner.set(owner, mine);
  }

  private of(owner: string): number {
    return this.byOwner.get(owner) ?? 0;
  }
}

/** The bytes of one page or answer. */
export class Room {
  private bytes = 0;

  constructor(
    readonly owner: string,
    private readonly held: HeldBytes,
  ) {}

  /** Raises it to that many bytes, if it is lower. */
  atLeast(bytes: number): Claim {
    if (bytes <= this.bytes) return 'granted';
    const claim = this.held.claim(this.owner, bytes - this.bytes);
    if (claim === 'granted') this.bytes = bytes;
    return claim;
  }

  /** For something else of the same owner. */
  another(): Room {
    return this.held.open(this.owner);
  }

  release(): void {
    this.held.add(this.owner, -this.bytes);
    this.bytes = 0;
  }
}

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

/** A page whose rows take no memory worth counting. */
export function smallPage(columns: readonly Column[], rows: readonly ApiValue[][], next: number | null): RowsPage {
  const pieces = (format: RowsFormat): Buffer[] => rows.map((row) => Buffer.from(ROW_TEXT[format](row)));
  return { columns, length: rows.length, pieces, next, claim: () => 'granted', release: () => undefined };
}

/** The rows from that one on of a query that has ended. */
export function rowsOfEnded(
  ending: Ending,
  { columns, rowsReturned }: { columns: readonly Column[] | null; rowsReturned: number },
  from: number,
): RowsResult {
  if (ending.state !== 'finished') return { kind: 'ended', state: ending.state, error: ending.error };
  const hasCount = from === 0 && ending.updateCount !== null && columns?.length === 1;
  if (!hasCount && from !== rowsReturned) return { kind: 'gone' };
  return { kind: 'page', page: smallPage(columns ?? [], hasCount ? [[String(ending.updateCount)]] : [], null) };
}

/** From that row on up to before that one, with the cursor of the next page. */
export interface RowRange {
  from: number;
  to: number;
  next: number | null;
}

/** A page of the engine in memory: counted until the execution and all of its readers have released it. */
export class HeldPage {
  private holders = 1;

  /** @param start how many rows of the query came before it */
  constructor(
    readonly start: number,
    readonly rows: PageRows,
    private readonly room: Room,
  ) {}

  /** A reader has not yet released its rows. */
  get isBeingRead(): boolean {
    return this.holders > 1;
  }

  /** Whether all of its rows come before that one. */
  isReadTo(row: number): boolean {
    return row === this.start + this.rows.length;
  }

  /** Rows of it for a reader. @param onBreach called before ProtocolBreach is thrown */
  read({ from, to, next }: RowRange, columns: readonly Column[], onBreach: () => void): RowsPage {
    this.holders += 1;
    const answer = this.room.another();
    let isReleased = false;
    return {
      columns,
      length: to - from,
      pieces: (format, loop) => this.pieces(from, to, new RowEncoder(columns, format, loop), onBreach),
      next,
      claim: (bytes) => (isReleased ? 'granted' : answer.atLeast(bytes)),
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
    if (this.holders === 0) this.room.release();
  }

  private *pieces(
    from: number,
    to: number,
    encoder: RowEncoder,
    onBreach: () => void,
  ): Generator<Buffer, void, undefined> {
    const { start, rows } = this;
    try {
      for (const piece of rows.pieces(from - start, to - start, encoder.atOnce)) yield encoder.encode(piece);
    } catch (error) {
      if (error instanceof ProtocolBreach) onBreach();
      throw error;
    }
  }
}
