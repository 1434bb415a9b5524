import { JsonScanner, readExactly } from './json-scanner.js';
import type { RowLoop } from './row-loop.js';

/** A piece ends with the row that reaches so many bytes, which take some milliseconds of work while nothing else runs. */
const PIECE = 131_072;

/** Whole rows with commas between them: the number of the first row, and the positions of their start and end. */
interface Piece {
  row: number;
  start: number;
  end: number;
}

/**
 * The rows of one page as the received bytes, which are parsed piece by piece when they are read. So a held page takes no more memory than
 * was counted, and outside V8's heap, where small values would take twenty times as much.
 */
export class PageRows {
  static readonly NONE = PageRows.scan(new JsonScanner(Buffer.from('[]')));

  /** Also private at run time, because the engine's answer contains paths that are capabilities. */
  readonly #body: Buffer;

  private constructor(
    body: Buffer,
    /** The position after the list of rows. */
    private readonly close: number,
    private readonly parts: readonly Piece[],
    readonly length: number,
    /** Estimated heap bytes of the heaviest row once it is parsed. */
    readonly heaviest: number,
  ) {
    this.#body = body;
  }

  /** Number of bytes from the start of the first row to the end of the list. */
  get size(): number {
    return this.close - (this.parts[0]?.start ?? this.close);
  }

  /**
   * Finds the rows of the list at the scanner's position, and moves the scanner after the list.
   * @param loop finds many rows at once; null: the scanner finds them one by one
   * @throws ProtocolBreach
   */
  static scan(scanner: JsonScanner, loop: RowLoop | null = null): PageRows {
    const parts: Piece[] = [];
    let part: Piece | null = null;
    let [length, heaviest] = [0, 0];
    scanner.expect('[');
    for (let more = !scanner.skipIf(']'); more; more = !scanner.endsList()) {
      const { start, count } = nextRows(scanner, loop, PIECE - (part === null ? 0 : part.end - part.start));
      if (part === null) parts.push((part = { row: length, start, end: start }));
      part.end = scanner.at;
      if (part.end - part.start >= PIECE) part = null;
      length += count;
      heaviest = Math.max(heaviest, scanner.weight);
    }
    return new PageRows(scanner.bytes, scanner.at, parts, length, heaviest);
  }

  /** All rows parsed, a piece at a time, with long integers as text. @throws ProtocolBreach */
  *batches(): Generator<readonly unknown[], void, undefined> {
    for (const { start, end } of this.parts) yield readExactly(this.#body.subarray(start, end));
  }

  /** The bytes of rows from `from` up to but excluding `to`, with commas between rows, a piece at a time. @throws ProtocolBreach */
  *pieces(from: number, to: number): Generator<Buffer, void, undefined> {
    for (const [index, { row, start, end }] of this.parts.entries()) {
      const next = this.parts[index + 1]?.row ?? this.length;
      if (next <= from || row >= to) continue;
      const first = from <= row ? start : this.beginningAfter(from - row, start);
      yield this.#body.subarray(first, to >= next ? end : this.endAfter(to - Math.max(from, row), first));
    }
  }

  /** The position of the row that follows `count` rows from `place` on. */
  private beginningAfter(count: number, place: number): number {
    const scanner = new JsonScanner(this.#body, this.endAfter(count, place));
    scanner.expect(',');
    return scanner.at;
  }

  /** The position after `count` rows from `place` on. */
  private endAfter(count: number, place: number): number {
    const scanner = new JsonScanner(this.#body, place);
    for (let row = 0; row < count; row += 1) {
      if (row > 0) scanner.expect(',');
      scanner.skipValue();
    }
    return scanner.at;
  }
}

/** Steps over the rows that the loop finds within `most` bytes, or over one row. Leaves the weight of the heaviest in the scanner. */
function nextRows(scanner: JsonScanner, loop: RowLoop | null, most: number): { start: number; count: number } {
  if (loop !== null && scanner.isAt('[')) {
    const start = scanner.at;
    const found = loop.findRows(scanner.bytes, start, most);
    if (found.count > 0) {
      scanner.at = found.end;
      scanner.weight = found.heaviest;
      return { start, count: found.count };
    }
  }
  return { start: scanner.skipValue(), count: 1 };
}
