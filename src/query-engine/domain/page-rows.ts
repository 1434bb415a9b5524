import { readExactly } from './exact-json.js';
import { JsonScanner } from './json-scanner.js';
import { readList } from './reading.js';

/** A piece ends with the row that reaches so many bytes: some milliseconds of work, while which nothing else runs. */
const PIECE = 65_536;

/** Whole rows with commas between them: the first one's number, and where they begin and end. */
interface Piece {
  row: number;
  start: number;
  end: number;
}

/**
 * The rows of one page as the bytes that came, taken piece by piece when they are read: a held page takes the bytes
 * that were counted and no more, outside V8's heap, where small values would take twenty times as much.
 */
export class PageRows {
  static readonly NONE = PageRows.scan(new JsonScanner(Buffer.from('[]')));

  /** Private at run time too: the engine's answer has paths in it that are capabilities. */
  readonly #body: Buffer;

  private constructor(
    body: Buffer,
    /** Where the list of rows ends. */
    private readonly list: { close: number; hasLongInteger: boolean },
    private readonly parts: readonly Piece[],
    readonly length: number,
    /** Heap bytes that the heaviest row may take once it is parsed. */
    readonly heaviest: number,
  ) {
    this.#body = body;
  }

  /** Bytes from the first row's beginning on. */
  get size(): number {
    return this.list.close - (this.parts[0]?.start ?? this.list.close);
  }

  /** Reads the list that begins there, and leaves the scanner behind it. @throws ProtocolBreach */
  static scan(scanner: JsonScanner): PageRows {
    const parts: Piece[] = [];
    let part: Piece | null = null;
    let [length, heaviest] = [0, 0];
    scanner.expect('[');
    scanner.hasLongInteger = false;
    for (let more = !scanner.takes(']'); more; more = !scanner.closes()) {
      const start = scanner.skipValue();
      if (part === null || part.end - part.start >= PIECE) {
        part = { row: length, start, end: scanner.at };
        parts.push(part);
      }
      part.end = scanner.at;
      length += 1;
      heaviest = Math.max(heaviest, scanner.weight);
    }
    const { at: close, hasLongInteger } = scanner;
    return new PageRows(scanner.bytes, { close, hasLongInteger }, parts, length, heaviest);
  }

  /** All rows, as in JSON, long integers as text, a piece at a time: small ones are parsed faster. @throws ProtocolBreach */
  *batches(): Generator<readonly unknown[], void, undefined> {
    for (const { start, end } of this.parts) {
      const rows = `[${this.#body.toString('utf8', start, end)}]`;
      yield readList(readExactly(rows, this.list.hasLongInteger), 'the rows');
    }
  }

  /** All rows as `decode` makes them, a piece at a time. @throws ProtocolBreach */
  *decoded<T>(decode: (row: unknown) => T): Generator<readonly T[], void, undefined> {
    for (const rows of this.batches()) yield rows.map(decode);
  }

  /** The bytes of the rows from … up to before …, a piece at a time, with commas between rows. @throws ProtocolBreach */
  *pieces(from: number, to: number): Generator<Buffer, void, undefined> {
    for (const [index, { row, start, end }] of this.parts.entries()) {
      const next = this.parts[index + 1]?.row ?? this.length;
      if (from >= to || next <= from || row >= to) continue;
      const first = from <= row ? start : this.beginningAfter(from - row, start);
      yield this.#body.subarray(first, to >= next ? end : this.endAfter(to - Math.max(from, row), first));
    }
  }

  /** Where the row begins that so many rows behind that place precede. */
  private beginningAfter(count: number, place: number): number {
    const scanner = new JsonScanner(this.#body, this.endAfter(count, place));
    scanner.expect(',');
    return scanner.at;
  }

  /** Where so many rows behind that place end. */
  private endAfter(count: number, place: number): number {
    const scanner = new JsonScanner(this.#body, place);
    for (let row = 0; row < count; row += 1) {
      if (row > 0) scanner.expect(',');
      scanner.skipValue();
    }
    return scanner.at;
  }
}
