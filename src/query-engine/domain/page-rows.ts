import { readExactly } from './exact-json.js';
import { JsonScanner } from './json-scanner.js';
import { readList } from './reading.js';

/** The place of every so many rows is kept; those between are found from there. */
const STRIDE = 64;
/** A piece ends with the row that reaches so many bytes: some milliseconds of work, while which nothing else runs. */
const PIECE = 65_536;

/**
 * The rows of one page as the bytes that came, taken piece by piece when they are read: a held page takes the bytes
 * that were counted and no more, outside V8's heap, where small values would take twenty times as much.
 */
export class PageRows {
  static readonly NONE = new PageRows(Buffer.alloc(0), [], 0, 0, 0);

  /** Private at run time too: the engine's answer has paths in it that are capabilities. */
  readonly #body: Buffer;

  private constructor(
    body: Buffer,
    private readonly marks: readonly number[],
    readonly length: number,
    /** From the first row's beginning to the last one's end. */
    readonly size: number,
    /** Heap bytes that the heaviest row may take once it is parsed. */
    readonly heaviest: number,
  ) {
    this.#body = body;
  }

  /** Reads the list that begins there, and leaves the scanner behind it. @throws ProtocolBreach */
  static scan(scanner: JsonScanner): PageRows {
    const marks: number[] = [];
    let [length, heaviest] = [0, 0];
    scanner.expect('[');
    if (scanner.takes(']')) return PageRows.NONE;
    do {
      const start = scanner.skipValue();
      if (length % STRIDE === 0) marks.push(start);
      length += 1;
      heaviest = Math.max(heaviest, scanner.weight);
    } while (scanner.takes(','));
    scanner.expect(']');
    return new PageRows(scanner.bytes, marks, length, scanner.at - (marks[0] ?? 0), heaviest);
  }

  /** All rows, as in JSON, long integers as text. @throws ProtocolBreach */
  read(): unknown[] {
    const pieces = [...this.pieces(0, this.length)];
    return pieces.flatMap((piece) => readList(readExactly(`[${piece.toString()}]`), 'the rows'));
  }

  /** The bytes of the rows from … up to before …, a piece at a time, with commas between rows. @throws ProtocolBreach */
  *pieces(from: number, to: number): Generator<Buffer, void, undefined> {
    if (from >= to) return;
    const scanner = this.scannerAt(from);
    for (let row = from; row < to;) {
      const start = scanner.skipValue();
      let end = scanner.at;
      for (row += 1; row < to && end - start < PIECE; row += 1) {
        scanner.expect(',');
        scanner.skipValue();
        end = scanner.at;
      }
      scanner.takes(',');
      yield this.#body.subarray(start, end);
    }
  }

  private scannerAt(row: number): JsonScanner {
    const scanner = new JsonScanner(this.#body, this.marks[Math.floor(row / STRIDE)] ?? this.#body.length);
    for (let before = row % STRIDE; before > 0; before -= 1) {
      scanner.skipValue();
      scanner.expect(',');
    }
    return scanner;
  }
}
