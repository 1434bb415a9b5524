import { isUtf8 } from 'node:buffer';
import { csvField } from '../../kernel/csv.js';
import type { Column } from './engine-type.js';
import { readExactly } from './exact-json.js';
import { isAt, isBlank } from './json-bytes.js';
import { EXACT_DIGITS, endOfFloat, endOfInteger, isWholeFloat } from './json-number.js';
import { JsonScanner } from './json-scanner.js';
import { ProtocolBreach } from './reading.js';
import { type Cell, cellOf } from './row-cell.js';
import type { RowsFormat } from './rows-format.js';

const [QUOTE, BACKSLASH, COMMA, MINUS, ZERO, NINE] = [0x22, 0x5c, 0x2c, 0x2d, 0x30, 0x39];
const [OPEN_LIST, CLOSE_LIST, LINE_FEED, CARRIAGE_RETURN] = [0x5b, 0x5d, 0x0a, 0x0d];
const NULL_ALONE = [Buffer.from('null')];
const WORDS = [...NULL_ALONE, Buffer.from('true'), Buffer.from('false')];

/** What may follow a backslash in the JSON that JSON.stringify writes, apart from `\u`. */
const SAME_ESCAPES: ReadonlySet<number> = new Set(Buffer.from('"\\bfnrt'));

/** Bytes of a text that are written as they came, whatever surrounds them: no quotes, backslashes and control characters. */
const ORDINARY = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number(byte >= 0x20 && byte !== QUOTE && byte !== BACKSLASH),
);

/** Room for what surrounds the rows of a piece. */
const SLACK = 64;
/** From so many bytes on the platform copies faster. */
const LONG = 32;

/**
 * Writes rows from the engine's JSON into an answer's, from bytes to bytes in one pass. What JSON.stringify would write as it
 * came is copied, in long runs; values in a form that it would not write (`1.0E2`, `\u0041`, blanks, maps, whose keys it
 * sorts) are parsed, converted and written one by one. In each format the bytes are those of all rows parsed and written.
 */
export class RowEncoder {
  private readonly row: Cell;
  private readonly isCsv: boolean;
  private source: Buffer = Buffer.alloc(0);
  /** What lies before it has been read … */
  private at = 0;
  /** … and what lies before this has been written: between both is what will be copied as it came. */
  private from = 0;
  /** The first comma of the text that was looked at last, or behind it. */
  private comma = -1;
  private out: Buffer = Buffer.alloc(0);
  private to = 0;

  constructor(
    columns: readonly Column[],
    private readonly format: RowsFormat,
  ) {
    const fields = columns.map(({ name, shape }) => ({ name, type: shape }));
    this.row = cellOf({ kind: 'row', fields });
    this.isCsv = format === 'csv';
  }

  /**
   * @param rows one or more, with commas between them, as PageRows found them
   * @returns lines; in JSON, each row with a comma before it
   * @throws ProtocolBreach for what is no JSON, and for a value that its column's type cannot have
   */
  encode(rows: Buffer): Buffer {
    this.source = isUtf8(rows) ? rows : Buffer.from(rows.toString());
    this.at = 0;
    this.from = 0;
    this.to = 0;
    this.comma = -1;
    this.reserve(0);
    if (this.format === 'json') this.put(COMMA);
    do this.line();
    while (this.takes(COMMA));
    if (this.at < this.source.length) throw notJson();
    this.flush();
    return Buffer.from(this.out.subarray(0, this.to));
  }

  private line(): void {
    if (this.format !== 'json') this.from = this.at; // without the comma between two rows
    if (!this.takes(OPEN_LIST)) throw new ProtocolBreach('a row that is not a list');
    if (this.isCsv) this.from = this.at;
    this.fields(this.row.parts);
    if (this.format === 'json') return;
    this.flush(this.isCsv ? this.at - 1 : this.at);
    this.from = this.at;
    if (this.isCsv) this.put(CARRIAGE_RETURN);
    this.put(LINE_FEED);
  }

  /** Up to and with the closing bracket. */
  private fields(parts: readonly Cell[]): void {
    for (let index = 0; index < parts.length; index += 1) {
      if (index > 0 && !this.takes(COMMA)) throw wrongCount();
      this.cell(parts[index]);
    }
    if (!this.takes(CLOSE_LIST)) throw wrongCount();
  }

  private elements(element: Cell | undefined): void {
    if (this.takes(CLOSE_LIST)) return;
    do this.cell(element);
    while (this.takes(COMMA));
    if (!this.takes(CLOSE_LIST)) throw notJson();
  }

  private cell(cell: Cell | undefined): void {
    if (cell === undefined) return; // never
    const byte = this.next();
    let isRead: boolean;
    if (byte === QUOTE) isRead = this.text(cell);
    else if (byte === MINUS || (byte >= ZERO && byte <= NINE)) isRead = this.number(cell);
    else if (byte === OPEN_LIST) isRead = this.list(cell);
    else isRead = this.word(cell);
    if (!isRead) this.converted(cell);
  }

  /** A text without escapes other than those that JSON.stringify writes. */
  private text({ kind }: Cell): boolean {
    const { source, isCsv } = this;
    const start = this.at + 1;
    if (kind !== 'plain' && kind !== 'digits') {
      // NaN and the infinities are texts; digits in a text are a number all the same.
      const first = source[start] ?? 0;
      if (kind !== 'float' || first === MINUS || (first >= ZERO && first <= NINE)) return false;
    }
    const end = this.endOfText(start);
    if (end < 0) return false;
    // In CSV, quotes are for commas and for an empty text alone.
    if (isCsv && end > start && !this.hasComma(start, end)) {
      this.skip(1);
      this.at = end;
      this.skip(1);
    } else this.at = end + 1;
    return true;
  }

  /** Where the text that begins there ends; -1: it does not, or has an escape that is not written as it came. */
  private endOfText(start: number): number {
    const { source, isCsv } = this;
    for (let at = start; ; at += 1) {
      while (ORDINARY[source[at] ?? 0] === 1) at += 1;
      if (source[at] === QUOTE) return at;
      if (source[at] !== BACKSLASH) return -1;
      at += 1;
      if (isCsv || !SAME_ESCAPES.has(source[at] ?? 0)) return -1;
    }
  }

  private hasComma(start: number, end: number): boolean {
    if (this.comma < start) this.comma = this.source.indexOf(COMMA, start);
    return this.comma >= 0 && this.comma < end;
  }

  /** A number that JSON.stringify writes as it came, or without the `.0` of whole ones. */
  private number({ kind }: Cell): boolean {
    const { source, at } = this;
    if (kind === 'float') {
      const end = endOfFloat(source, at);
      if (end < 0) return false;
      const isWhole = isWholeFloat(source, end);
      this.at = isWhole ? end - 2 : end;
      if (isWhole) this.skip(2);
      return true;
    }
    if (kind !== 'plain' && kind !== 'digits') return false;
    const end = endOfInteger(source, at, kind === 'digits' ? Infinity : EXACT_DIGITS);
    if (end < 0) return false;
    const isQuoted = kind === 'digits' && !this.isCsv;
    if (isQuoted) this.put(QUOTE);
    this.at = end;
    if (isQuoted) this.put(QUOTE);
    return true;
  }

  private list({ kind, parts }: Cell): boolean {
    if (this.isCsv || (kind !== 'array' && kind !== 'row')) return false;
    this.at += 1;
    if (kind === 'row') this.fields(parts);
    else this.elements(parts[0]);
    return true;
  }

  /** NULL of any type; true and false. */
  private word({ kind }: Cell): boolean {
    for (const word of kind === 'plain' ? WORDS : NULL_ALONE) {
      if (!isAt(word, this.source, this.at)) continue;
      if (word === NULL_ALONE[0] && this.isCsv) this.skip(word.length);
      else this.at += word.length;
      return true;
    }
    return false;
  }

  private converted({ convert }: Cell): void {
    const scanner = new JsonScanner(this.source, this.at);
    const start = scanner.skipValue();
    if (start > this.at) throw notJson(); // what JSON does not know as a blank
    const value = convert(readExactly(this.source.toString('utf8', start, scanner.at)));
    const text = this.isCsv ? csvField(value) : JSON.stringify(value);
    this.skip(scanner.at - start);
    this.reserve(Buffer.byteLength(text));
    this.to += this.out.write(text, this.to);
  }

  /** Makes room for so many bytes, and for twice what is left to be written: no other value takes more, its quotes included. */
  private reserve(bytes: number): void {
    const needed = this.to + bytes + 2 * (this.source.length - this.from) + SLACK;
    if (this.out.length >= needed) return;
    const larger = Buffer.allocUnsafeSlow(needed + bytes);
    this.out.copy(larger, 0, 0, this.to);
    this.out = larger;
  }

  /** Writes a byte of its own behind what has been read. */
  private put(byte: number): void {
    this.flush();
    this.out[this.to++] = byte;
  }

  /** Reads so many bytes that are not written. */
  private skip(bytes: number): void {
    this.flush();
    this.at += bytes;
    this.from = this.at;
  }

  /** Writes what has been read up to there and not been written yet. */
  private flush(end = this.at): void {
    const { source, out, from } = this;
    let { to } = this;
    if (end - from < LONG) for (let at = from; at < end; at += 1) out[to++] = source[at] ?? 0;
    else to += source.copy(out, to, from, end);
    this.from = end;
    this.to = to;
  }

  /** The next byte that is no blank. */
  private next(): number {
    const byte = this.source[this.at] ?? 0;
    return byte > 0x20 ? byte : this.nextAfterBlanks();
  }

  private nextAfterBlanks(): number {
    while (isBlank(this.source[this.at])) this.skip(1);
    return this.source[this.at] ?? 0;
  }

  private takes(byte: number): boolean {
    if (this.next() !== byte) return false;
    this.at += 1;
    return true;
  }
}

function notJson(): ProtocolBreach {
  return new ProtocolBreach('the answer is not JSON');
}

function wrongCount(): ProtocolBreach {
  return new ProtocolBreach('a row with another number of values than there are columns');
}
