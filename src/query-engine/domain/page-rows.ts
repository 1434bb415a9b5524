import { readExactly } from './exact-json.js';
import { JsonScanner } from './json-scanner.js';
import { readList } from './reading.js';
import type { RowLoop } from './row-loop.js';

/** A piece ends with the row that reaches so many bytes: some milliseconds of work, while which nothing else runs. */
export const PIECE = 65_536;
/** Where a loop finds less than so many bytes, rows are taken one by one: it would copy the same bytes again and again. */
const FEW = 4_096;

/** Whole rows with commas between them: the first one's number, and where they begin and end. */
interface Piece {
  row: number;
  start: number;
  end: number;
}

/** Steps over rows, as many as the loop finds at once or else one by one. */
class RowSteps {
  constructor(
    private readonly scanner: JsonScanner,
    private loop: RowLoop | null,
  ) {}

  /** Steps over no more rows than reach so many bytes. The scanner then has the weight of the heaviest. */
  next(most: number): { start: number; count: number } {
    const { scanner } = this;
    if (this.loop !== null && scanner.isAt('[')) {
      const start = scanner.at;
      const found = this.loop.find(scanner.bytes, start, most);
      if (found.end - start < Math.min(FEW, most)) this.loop = null;
      if (found.count > 0) {
        scanner.at = found.end;
        scanner.weight = found.heaviest;
        scanner.hasLongInteger ||= found.hasLongInteger;
        return { start, count: found.count };
      }
    }
    return { start: scanner.skipValue(), count: 1 };
  }
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

  /**
   * Reads the list that begins there, and leaves the scanner behind it.
   * @param loop null: it is looked through row by row
   * @throws ProtocolBreach
   */
  static scan(scanner: JsonScanner, loop: RowLoop | null = null): PageRows {
    const parts: Piece[] = [];
    let part: Piece | null = null;
    let [length, heaviest] = [0, 0];
    const rows = new RowSteps(scanner, loop);
    scanner.expect('[');
    scanner.hasLongInteger = false;
    for (let more = !scanner.takes(']'); more; more = !scanner.closes()) {
      const { start, count } = rows.next(PIECE - (part === null ? 0 : part.end - part.start));
      if (part === null) parts.push((part = { row: length, start, end: start }));
      part.end = scanner.at;
      if (part.end - part.start >= PIECE) part = null;
      length += count;
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

  /**
   * The bytes of the rows from … up to before …, with commas between rows: a piece at a time, or as many as are no more than so many bytes.
   * @throws ProtocolBreach
   */
  *pieces(from: number, to: number, most = PIECE): Generator<Buffer, void, undefined> {
    if (from >= to) return;
    for (const { row, start, end, next } of this.joined(from, to, most)) {
      const first = from <= row ? start : this.beginningAfter(from - row, start);
      yield this.#body.subarray(first, to >= next ? end : this.endAfter(to - Math.max(from, row), first));
    }
  }

  /** The pieces that have any of those rows, as many together as are no more than so many bytes; each with the row behind it. */
  private *joined(from: number, to: number, most: number): Generator<Piece & { next: number }, void, undefined> {
    let open: (Piece & { next: number }) | null = null;
    for (const [index, part] of this.parts.entries()) {
      const next = this.parts[index + 1]?.row ?? this.length;
      if (next <= from || part.row >= to) continue;
      if (open !== null && part.end - open.start > most) {
        yield open;
        open = null;
      }
      open = { ...(open ?? part), end: part.end, next };
    }
    if (open !== null) yield open;
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
