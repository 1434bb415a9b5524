import { ProtocolBreach } from './reading.js';

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Roles of bytes outside strings. Most bytes are plain: no part of the structure of a list or an object. */
const [PLAIN, STRING, OPEN, CLOSE, SEPARATOR] = [0, 1, 2, 3, 4];
const ROLES = new Uint8Array(256).fill(PLAIN);
ROLES[QUOTE] = STRING;
for (const byte of [OPEN_LIST, OPEN_OBJECT]) ROLES[byte] = OPEN;
for (const byte of [CLOSE_LIST, CLOSE_OBJECT]) ROLES[byte] = CLOSE;
for (const byte of [COMMA, COLON]) ROLES[byte] = SEPARATOR;

/** Upper estimates of V8's heap bytes: an array or object, a slot with its number, a byte of text (two where not Latin-1). */
const WEIGHT = { container: 64, value: 24, byte: 2 } as const;

/** The most nested lists and objects. Recursive functions such as `JSON.stringify` overflow the stack at some thousands. */
const MOST_DEPTH = 1_000;

/** Finds where the values of a JSON text begin and end, without reading them. */
export class JsonScanner {
  /** Estimated heap bytes of the last skipped value once it is parsed. */
  weight = 0;
  /** Start and end positions of the long integers of skipped values; null: not recorded. */
  private ends: number[] | null = null;

  constructor(
    readonly bytes: Buffer,
    public at = 0,
  ) {}

  /** Steps over a character if it is next. @returns whether it was */
  skipIf(character: ',' | ':' | '[' | ']' | '{' | '}'): boolean {
    this.skipBlanks();
    if (this.bytes[this.at] !== character.charCodeAt(0)) return false;
    this.at += 1;
    return true;
  }

  /** Steps over a character. @throws ProtocolBreach if another one is next. */
  expect(character: ',' | ':' | '[' | ']' | '{' | '}'): void {
    if (!this.skipIf(character)) throw new ProtocolBreach('the answer is not JSON');
  }

  /** Called after an element of a list. Steps over the closing bracket or the comma. @returns whether the list is closed. */
  endsList(): boolean {
    if (this.skipIf(',')) return false;
    this.expect(']');
    return true;
  }

  /** Whether a character is next. */
  isAt(character: '['): boolean {
    this.skipBlanks();
    return this.bytes[this.at] === character.charCodeAt(0);
  }

  /** @throws ProtocolBreach if anything but blanks is left. */
  expectEnd(): void {
    this.skipBlanks();
    if (this.at < this.bytes.length) throw new ProtocolBreach('the answer is not JSON');
  }

  /** Steps over a value. @returns its start. @throws ProtocolBreach if there is no value, it does not end, or it is nested too deeply. */
  skipValue(): number {
    this.skipBlanks();
    const roles = ROLES;
    const { bytes, at: start } = this;
    const { length } = bytes;
    let depth = 0;
    let containers = 0;
    let values = 1;
    let at = start;
    do {
      if (at >= length) throw new ProtocolBreach('the answer is not JSON');
      const role = roles[bytes[at] ?? 0];
      if (role === PLAIN) {
        const begun = at;
        if (depth === 0) at = this.endOfWord(at);
        else
          do at += 1;
          while (at < length && roles[bytes[at] ?? 0] === PLAIN);
        if (this.ends !== null) this.noteLongInteger(begun, at);
      } else if (role === STRING) at = this.endOfString(at);
      else {
        at += 1;
        if (role === SEPARATOR) values += 1;
        else if (role === CLOSE) depth -= 1;
        else {
          depth += 1;
          if (depth > MOST_DEPTH) throw new ProtocolBreach('the answer is nested too deeply');
          containers += 1;
        }
      }
    } while (depth > 0);
    if (depth < 0 || at === start) throw new ProtocolBreach('the answer is not JSON');
    this.at = at;
    this.weight = (at - start) * WEIGHT.byte + containers * WEIGHT.container + values * WEIGHT.value;
    return start;
  }

  /** The bytes from the first value of a list to the last, with long integers in quotes. @throws ProtocolBreach */
  quoteLongIntegers(): Buffer {
    const ends: number[] = [];
    this.ends = ends;
    do this.skipValue();
    while (this.skipIf(','));
    const { bytes } = this;
    const quoted = Buffer.allocUnsafe(bytes.length + ends.length);
    let [from, to] = [0, 0];
    for (const end of ends) {
      to += bytes.copy(quoted, to, from, end);
      quoted[to++] = QUOTE;
      from = end;
    }
    bytes.copy(quoted, to, from);
    return quoted;
  }

  private noteLongInteger(from: number, to: number): void {
    const [, blanks, digits] = /^(\s*)(-?\d{16,})\s*$/.exec(this.bytes.toString('latin1', from, to)) ?? [];
    if (blanks === undefined || digits === undefined) return;
    this.ends?.push(from + blanks.length, from + blanks.length + digits.length);
  }

  private skipBlanks(): void {
    for (let byte = this.bytes[this.at]; byte !== undefined && byte <= 0x20; byte = this.bytes[this.at]) this.at += 1;
  }

  /** The position after the closing quote: the first quote after an even number of backslashes. */
  private endOfString(open: number): number {
    const { bytes } = this;
    for (let close = bytes.indexOf(QUOTE, open + 1); close !== -1; close = bytes.indexOf(QUOTE, close + 1)) {
      let backslashes = 0;
      while (bytes[close - 1 - backslashes] === BACKSLASH) backslashes += 1;
      if (backslashes % 2 === 0) return close + 1;
    }
    throw new ProtocolBreach('the answer is not JSON');
  }

  /** The position after a number, true, false or null outside of any container. */
  private endOfWord(start: number): number {
    let at = start;
    for (let byte = this.bytes[at]; byte !== undefined && isWordByte(byte); byte = this.bytes[at]) at += 1;
    return at;
  }
}

/** Sixteen digits: JavaScript's numbers are exact for integers up to 2^53, which has sixteen. */
const LONG_RUN = /\d{16}/;

/**
 * Parses values with commas between them by JSON.parse without losing digits: integers of sixteen or more digits become text. The caller
 * tells these from other texts by the column's type.
 * @throws ProtocolBreach if the values are not JSON.
 */
export function readExactly(bytes: Buffer): readonly unknown[] {
  const text = bytes.toString();
  try {
    const exact = LONG_RUN.test(text) ? new JsonScanner(bytes).quoteLongIntegers().toString() : text;
    return JSON.parse(`[${exact}]`) as unknown[];
  } catch (cause) {
    throw new ProtocolBreach('the answer is not JSON', { cause });
  }
}

/** Whether a byte can be part of a number, true, false or null: a digit, a letter, a sign or the point. */
function isWordByte(byte: number): boolean {
  return (
    (byte >= 0x30 && byte <= 0x39) ||
    (byte >= 0x41 && byte <= 0x7a && byte !== OPEN_LIST && byte !== CLOSE_LIST && byte !== BACKSLASH) ||
    byte === 0x2b ||
    byte === 0x2d ||
    byte === 0x2e
  );
}
