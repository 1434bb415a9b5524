import { JsonScanner, parseWithoutRounding } from './json-scanner.js';
import type { RowLoop } from './row-loop.js';

/** Rows are processed in pieces, so that other work is not blocked for long. A piece ends with the row that reaches this many bytes. */
const PIECE_BYTES = 131_072;

/** A piece, which is a sequence of whole rows with commas between them: the number of its first row, and its start and end position. */
interface PieceBounds {
  firstRow: number;
  start: number;
  end: number;
}

/**
 * The rows of one page, kept as received bytes and parsed piece by piece when they are read. So a page in memory takes
 * only its received bytes, outside V8's heap. Parsed small values would take twenty times as much.
 */
export class PageRows {
  static readonly NONE = PageRows.scan(new JsonScanner(Buffer.from('[]')));

  /** Private at run time, not only in TypeScript, because the engine's answer contains secret paths. */
  readonly #body: Buffer;

  private constructor(
    body: Buffer,
    private readonly pieceBounds: readonly PieceBounds[],
    readonly length: number,
    /** Estimated heap bytes of the largest row once it is parsed. */
    readonly maxRowHeapBytes: number,
  ) {
    this.#body = body;
  }

  /**
   * Finds the rows of the list at the scanner's position, and moves the scanner after the list.
   * @param loop finds many rows at once; null: the scanner finds them one by one
   * @throws ProtocolBreach
   */
  static scan(scanner: JsonScanner, loop: RowLoop | null = null): PageRows {
    const pieceBounds: PieceBounds[] = [];
    let piece: PieceBounds | null = null;
    let [length, maxRowHeapBytes] = [0, 0];
    scanner.expect('[');
    for (let hasMore = !scanner.skipIf(']'); hasMore; hasMore = !scanner.skipCommaOrListEnd()) {
      const { start, count } = skipRows(scanner, loop, PIECE_BYTES - (piece === null ? 0 : piece.end - piece.start));
      if (piece === null) pieceBounds.push((piece = { firstRow: length, start, end: start }));
      piece.end = scanner.position;
      if (piece.end - piece.start >= PIECE_BYTES) piece = null;
      length += count;
      maxRowHeapBytes = Math.max(maxRowHeapBytes, scanner.heapBytes);
    }
    return new PageRows(scanner.bytes, pieceBounds, length, maxRowHeapBytes);
  }

  /** All rows parsed, a piece at a time, with long integers as text. @throws ProtocolBreach */
  *batches(): Generator<readonly unknown[], void, undefined> {
    for (const { start, end } of this.pieceBounds) yield parseWithoutRounding(this.#body.subarray(start, end));
  }

  /** The bytes of rows from `startRow` up to but excluding `endRow`, with commas between rows, a piece at a time. @throws ProtocolBreach */
  *pieces(startRow: number, endRow: number): Generator<Buffer, void, undefined> {
    for (const [index, { firstRow, start, end }] of this.pieceBounds.entries()) {
      const nextFirstRow = this.pieceBounds[index + 1]?.firstRow ?? this.length;
      if (nextFirstRow <= startRow || firstRow >= endRow) continue;
      const startByte = startRow <= firstRow ? start : this.rowStartAfter(startRow - firstRow, start);
      const endByte = endRow >= nextFirstRow ? end : this.rowEndAfter(endRow - Math.max(startRow, firstRow), startByte);
      yield this.#body.subarray(startByte, endByte);
    }
  }

  /** The position of the row that follows `count` rows from `position` on. */
  private rowStartAfter(count: number, position: number): number {
    const scanner = new JsonScanner(this.#body, this.rowEndAfter(count, position));
    scanner.expect(',');
    return scanner.position;
  }

  /** The position after `count` rows from `position` on. */
  private rowEndAfter(count: number, position: number): number {
    const scanner = new JsonScanner(this.#body, position);
    for (let row = 0; row < count; row += 1) {
      if (row > 0) scanner.expect(',');
      scanner.skipValue();
    }
    return scanner.position;
  }
}

/** Steps over the rows that the loop finds within `maxBytes` bytes, or else over one row. Sets `scanner.heapBytes` to the heap bytes of the largest row. */
function skipRows(scanner: JsonScanner, loop: RowLoop | null, maxBytes: number): { start: number; count: number } {
  if (loop !== null && scanner.isNext('[')) {
    const start = scanner.position;
    const foundRows = loop.findRows(scanner.bytes, start, maxBytes);
    if (foundRows.count > 0) {
      scanner.position = foundRows.end;
      scanner.heapBytes = foundRows.maxRowHeapBytes;
      return { start, count: foundRows.count };
    }
  }
  return { start: scanner.skipValue(), count: 1 };
}
