import { isUtf8 } from 'node:buffer';
import { csvField } from '../../kernel/csv.js';
import type { Column } from './engine-type.js';
import { readExactly } from './exact-json.js';
import { EXACT_DIGITS, endOfFloat, endOfInteger, isWholeFloat } from './json-number.js';
import { JsonScanner } from './json-scanner.js';
import { ProtocolBreach } from './reading.js';
import { type Cell, cellOf } from './row-cell.js';
import type { RowsFormat } from './rows-format.js';

const [QUOTE, BACKSLASH, COMMA, MINUS, ZERO, NINE] = [0x22, 0x5c, 0x2c, 0x2d, 0x30, 0x39];
const [OPEN_LIST, CLOSE_LIST, LINE_FEED, CARRIAGE_RETURN] = [0x5b, 0x5d, 0x0a, 0x0d];
const NULL = Buffer.from('null');
const NULL_ALONE = [NULL];
const WORDS = [NULL, Buffer.from('true'), Buffer.from('false')];
/** What may follow a backslash in the JSON that JSON.stringify writes, apart from `\u`. */
const SAME_ESCAPES: ReadonlySet<number> = new Set(Buffer.from('"\\bfnrt'));

/** Room for what surrounds the rows of a piece. */
const SLACK = 64;

/**
 * Writes rows from the engine's JSON into an answer's, from bytes to bytes in one pass. What JSON.stringify would write as it
 * came is copied; values in a form that it would not write (`1.0E2`, `\u0041`, blanks, maps, whose keys it sorts) are
 * parsed, converted and written one by one. In each format the bytes are those of all rows parsed and written.
 */
export class RowEncoder {
  private readonly row: Cell;
  private readonly isCsv: boolean;
  private source: Buffer = Buffer.alloc(0);
  private at = 0;
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
    this.to = 0;
    this.reserve(0);
    do this.line();
    while (this.takes(COMMA));
    if (this.at < this.source.length) throw notJson();
    return Buffer.from(this.out.subarray(0, this.to));
  }

  private line(): void {
    if (this.format === 'json') this.put(COMMA);
    if (!this.takes(OPEN_LIST)) throw new ProtocolBreach('a row that is not a list');
    if (this.isCsv) this.fields(this.row.parts);
    else this.listOf(this.row);
    if (this.isCsv) this.put(CARRIAGE_RETURN);
    if (this.format !== 'json') this.put(LINE_FEED);
  }

  /** A list behind its opening bracket. */
  private listOf({ kind, parts }: Cell): void {
    this.put(OPEN_LIST);
    if (kind === 'row') this.fields(parts);
    else this.elements(parts[0]);
    this.put(CLOSE_LIST);
  }

  private fields(parts: readonly Cell[]): void {
    for (let index = 0; index < parts.length; index += 1) {
      if (index > 0 && !this.takes(COMMA)) throw wrongCount();
      if (index > 0) this.put(COMMA);
      this.cell(parts[index]);
    }
    if (!this.takes(CLOSE_LIST)) throw wrongCount();
  }

  private elements(element: Cell | undefined): void {
    if (this.takes(CLOSE_LIST)) return;
    this.cell(element);
    while (this.takes(COMMA)) {
      this.put(COMMA);
      this.cell(element);
    }
    if (!this.takes(CLOSE_LIST)) throw notJson();
  }

  private cell(cell: Cell | undefined): void {
    if (cell === undefined) return; // never
    const byte = this.next();
    let isWritten: boolean;
    if (byte === QUOTE) isWritten = this.text(cell);
    else if (byte === MINUS || (byte >= ZERO && byte <= NINE)) isWritten = this.number(cell);
    else if (byte === OPEN_LIST) isWritten = this.list(cell);
    else isWritten = this.word(cell);
    if (!isWritten) this.converted(cell);
  }

  /** A text without escapes other than those that JSON.stringify writes. */
  private text({ kind }: Cell): boolean {
    const { source, out, isCsv } = this;
    let [at, to] = [this.at + 1, this.to];
    let byte = source[at] ?? 0;
    if (kind !== 'plain' && kind !== 'digits') {
      // NaN and the infinities are texts; digits in a text are a number all the same.
      if (kind !== 'float' || byte === MINUS || (byte >= ZERO && byte <= NINE)) return false;
    }
    if (!isCsv) out[to++] = QUOTE;
    let hasComma = byte === QUOTE; // in CSV, an empty text is quoted as well
    while (byte !== QUOTE) {
      if (byte < 0x20) return false;
      if (byte === BACKSLASH) {
        const escaped = source[at + 1] ?? 0;
        if (isCsv || !SAME_ESCAPES.has(escaped)) return false;
        out[to++] = BACKSLASH;
        byte = escaped;
        at += 1;
      } else if (byte === COMMA) hasComma = true;
      out[to++] = byte;
      at += 1;
      byte = source[at] ?? 0;
    }
    if (!isCsv) out[to++] = QUOTE;
    else if (hasComma) {
      out.copyWithin(this.to + 1, this.to, to);
      out[this.to] = QUOTE;
      to += 1;
      out[to++] = QUOTE;
    }
    this.at = at + 1;
    this.to = to;
    return true;
  }

  /** A number that JSON.stringify writes as it came, or without the `.0` of whole ones. */
  private number({ kind }: Cell): boolean {
    const { source, at } = this;
    if (kind === 'float') {
      const end = endOfFloat(source, at);
      if (end < 0) return false;
      this.copy(isWholeFloat(source, end) ? end - 2 : end);
      this.at = end;
      return true;
    }
    if (kind !== 'plain' && kind !== 'digits') return false;
    const end = endOfInteger(source, at, kind === 'digits' ? Infinity : EXACT_DIGITS);
    if (end < 0) return false;
    const isQuoted = kind === 'digits' && !this.isCsv;
    if (isQuoted) this.put(QUOTE);
    this.copy(end);
    if (isQuoted) this.put(QUOTE);
    return true;
  }

  private list(cell: Cell): boolean {
    if (this.isCsv || (cell.kind !== 'array' && cell.kind !== 'row')) return false;
    this.at += 1;
    this.listOf(cell);
    return true;
  }

  /** NULL of any type; true and false. */
  private word({ kind }: Cell): boolean {
    for (const word of kind === 'plain' ? WORDS : NULL_ALONE) {
      if (word[0] !== this.source[this.at]) continue;
      const end = this.at + word.length;
      if (end > this.source.length || this.source.compare(word, 0, word.length, this.at, end) !== 0) return false;
      if (word === NULL && this.isCsv) this.at = end;
      else this.copy(end);
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
    this.at = scanner.at;
    this.reserve(Buffer.byteLength(text));
    this.to += this.out.write(text, this.to);
  }

  /** Makes room for so many bytes, and for twice what is left to be read: no other value takes more, its quotes included. */
  private reserve(bytes: number): void {
    const needed = this.to + bytes + 2 * (this.source.length - this.at) + SLACK;
    if (this.out.length >= needed) return;
    const larger = Buffer.allocUnsafeSlow(needed + bytes);
    this.out.copy(larger, 0, 0, this.to);
    this.out = larger;
  }

  private put(byte: number): void {
    this.out[this.to++] = byte;
  }

  /** Copies what is read up to there. */
  private copy(end: number): void {
    const { source, out } = this;
    let to = this.to;
    for (let at = this.at; at < end; at += 1) out[to++] = source[at] ?? 0;
    this.at = end;
    this.to = to;
  }

  /** The next byte that is no blank. */
  private next(): number {
    let byte = this.source[this.at] ?? 0;
    while (byte === 0x20 || (byte >= 0x09 && byte <= 0x0d && byte !== 0x0b && byte !== 0x0c))
      byte = this.source[++this.at] ?? 0;
    return byte;
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
