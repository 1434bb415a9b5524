import type { Column, EngineType } from './engine-type.js';
import { JsonScanner } from './json-scanner.js';
import { PageRows } from './page-rows.js';
import { ProtocolBreach } from './reading.js';

/** A piece ends with the first row that ends behind so many bytes: small ones are parsed faster. */
const PIECE = 65_536;
/** A longer one is looked through for what it would take in memory. */
const LONGEST_PIECE = 1_048_576;
const OPEN_LIST = 0x5b;
/** Of flat rows: the last one's end, where the engine writes it, and the end of any other. */
const END_OF_ROWS = Buffer.from(']],"stats":');
const BETWEEN_ROWS = Buffer.from('],[');

/** The types whose values have no lists and objects in them. */
const SCALARS = new Set<EngineType['kind']>(['boolean', 'integer', 'bigint', 'decimal', 'float', 'text', 'varbinary']);

/** Whether rows of these columns need not be looked through. @param columns null: none are known yet */
export function areScalars(columns: readonly Column[] | null): boolean {
  return columns?.every(({ shape }) => SCALARS.has(shape.kind)) ?? false;
}

/**
 * Rows of scalars that are read once, in order, and are not looked through before. Where a row ends is guessed by the bytes, which texts may
 * have as well, and proved by the parser: what it takes from the beginning of a row on is whole rows. Where it does not, or a value is none of
 * its type's, such as a long integer that has lost digits, the page is looked through after all.
 */
export class UnscannedRows {
  private constructor(
    private readonly body: Buffer,
    /** Where the list begins, and its last row ends. */
    private readonly open: number,
    private readonly end: number,
    /** Heap bytes that a row may take once it is parsed. */
    private readonly heaviestRow: number,
    private readonly piece: number,
  ) {}

  /** Takes the list that begins there, and leaves the scanner behind it. @returns null: it must be looked through. */
  static take(scanner: JsonScanner, heaviestRow: number, piece = PIECE): UnscannedRows | null {
    const { bytes, at } = scanner;
    const last = bytes.lastIndexOf(END_OF_ROWS);
    if (bytes[at] !== OPEN_LIST || bytes[at + 1] !== OPEN_LIST || last <= at) return null;
    scanner.at = last + 2;
    return new UnscannedRows(bytes, at, last + 1, heaviestRow, piece);
  }

  /**
   * All rows as `decode` makes them, a piece at a time.
   * @param decode throws ProtocolBreach for an integer that must lose no digit and is a number beyond the safe ones
   * @throws ProtocolBreach
   */
  *decoded<T>(decode: (row: unknown) => T): Generator<readonly T[], void, undefined> {
    let done = 0;
    for (let [from, to] = [this.open + 1, 0]; from < this.end; from = to + 1) {
      to = this.endOfPiece(from);
      const rows = to - from > LONGEST_PIECE ? null : this.parsed(from, to, decode);
      if (rows === null) return yield* this.scannedFrom(done, decode);
      done += rows.length;
      yield rows;
    }
  }

  private endOfPiece(from: number): number {
    const cut = this.body.indexOf(BETWEEN_ROWS, from + this.piece);
    return cut < 0 || cut >= this.end ? this.end : cut + 1;
  }

  /** Null: these are no whole rows, or some value is none of its type's. */
  private parsed<T>(from: number, to: number, decode: (row: unknown) => T): readonly T[] | null {
    try {
      const rows = JSON.parse(`[${this.body.toString('utf8', from, to)}]`) as unknown[];
      return rows.map(decode);
    } catch (error) {
      if (error instanceof SyntaxError || error instanceof ProtocolBreach) return null;
      throw error;
    }
  }

  private *scannedFrom<T>(done: number, decode: (row: unknown) => T): Generator<readonly T[], void, undefined> {
    const scanner = new JsonScanner(this.body, this.open);
    const scanned = PageRows.scan(scanner);
    if (scanner.at !== this.end + 1) throw new ProtocolBreach('the answer is not JSON');
    if (scanned.heaviest > this.heaviestRow) throw new ProtocolBreach('a row that would take too much memory');
    let left = done;
    for (const rows of scanned.decoded(decode)) {
      if (left < rows.length) yield rows.slice(left);
      left = Math.max(0, left - rows.length);
    }
  }
}
