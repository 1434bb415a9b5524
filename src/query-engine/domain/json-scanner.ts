import { ProtocolBreach } from './reading.js';

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Roles of bytes outside strings. Most bytes are plain: they are not part of the structure of a list or an object. */
const [PLAIN, STRING, OPEN, CLOSE, SEPARATOR] = [0, 1, 2, 3, 4];
const ROLE_BY_BYTE = new Uint8Array(256).fill(PLAIN);
ROLE_BY_BYTE[QUOTE] = STRING;
for (const byte of [OPEN_LIST, OPEN_OBJECT]) ROLE_BY_BYTE[byte] = OPEN;
for (const byte of [CLOSE_LIST, CLOSE_OBJECT]) ROLE_BY_BYTE[byte] = CLOSE;
for (const byte of [COMMA, COLON]) ROLE_BY_BYTE[byte] = SEPARATOR;

/** Upper estimates of V8's heap bytes for an array or object, for each value in it, and for each byte of text. */
const HEAP_BYTES = { container: 64, value: 24, byte: 2 } as const;

/** The maximum nesting depth of a value. Recursive functions such as `JSON.stringify` overflow the stack at some thousands of levels. */
const MAX_DEPTH = 1_000;

/** Finds where the values of a JSON text begin and end, without parsing them. */
export class JsonScanner {
  /** Estimated heap bytes of the last skipped value once it is parsed. */
  heapBytes = 0;
  /** Start and end positions of the long integers in skipped values; null: the positions are not recorded. */
  private longIntegerBounds: number[] | null = null;

  constructor(
    readonly bytes: Buffer,
    public position = 0,
  ) {}

  /** Steps over `character` if it comes next. @returns whether it did */
  skipIf(character: ',' | ':' | '[' | ']' | '{' | '}'): boolean {
    this.skipBlanks();
    if (this.bytes[this.position] !== character.charCodeAt(0)) return false;
    this.position += 1;
    return true;
  }

  /** Steps over `character`. @throws ProtocolBreach if another character comes next. */
  expect(character: ',' | ':' | '[' | ']' | '{' | '}'): void {
    if (!this.skipIf(character)) throw new ProtocolBreach('the answer is not JSON');
  }

  /** Called after an element of a list. Steps over the closing bracket or the comma. @returns whether the list is closed. */
  skipCommaOrListEnd(): boolean {
    if (this.skipIf(',')) return false;
    this.expect(']');
    return true;
  }

  isNext(character: '['): boolean {
    this.skipBlanks();
    return this.bytes[this.position] === character.charCodeAt(0);
  }

  /** @throws ProtocolBreach if anything but blanks is left. */
  expectEnd(): void {
    this.skipBlanks();
    if (this.position < this.bytes.length) throw new ProtocolBreach('the answer is not JSON');
  }

  /** Steps over a value. @returns its start. @throws ProtocolBreach if there is no value, it does not end, or it is nested too deeply. */
  skipValue(): number {
    this.skipBlanks();
    const byteRoles = ROLE_BY_BYTE;
    const { bytes, position: start } = this;
    const { length } = bytes;
    let nestingDepth = 0;
    let containers = 0;
    let valueCount = 1;
    let at = start;
    do {
      if (at >= length) throw new ProtocolBreach('the answer is not JSON');
      const byteRole = byteRoles[bytes[at] ?? 0];
      if (byteRole === PLAIN) {
        const wordStart = at;
        if (nestingDepth === 0) at = this.endOfWord(at);
        else
          do at += 1;
          while (at < length && byteRoles[bytes[at] ?? 0] === PLAIN);
        if (this.longIntegerBounds !== null) this.recordLongInteger(wordStart, at);
      } else if (byteRole === STRING) at = this.endOfString(at);
      else {
        at += 1;
        if (byteRole === SEPARATOR) valueCount += 1;
        else if (byteRole === CLOSE) nestingDepth -= 1;
        else {
          nestingDepth += 1;
          if (nestingDepth > MAX_DEPTH) throw new ProtocolBreach('the answer is nested too deeply');
          containers += 1;
        }
      }
    } while (nestingDepth > 0);
    if (nestingDepth < 0 || at === start) throw new ProtocolBreach('the answer is not JSON');
    this.position = at;
    this.heapBytes = (at - start) * HEAP_BYTES.byte + containers * HEAP_BYTES.container + valueCount * HEAP_BYTES.value;
    return start;
  }

  /** The bytes from the first value of a list to the last, with long integers in quotes. @throws ProtocolBreach */
  quoteLongIntegers(): Buffer {
    const integerBounds: number[] = [];
    this.longIntegerBounds = integerBounds;
    do this.skipValue();
    while (this.skipIf(','));
    const { bytes } = this;
    const quotedBytes = Buffer.allocUnsafe(bytes.length + integerBounds.length);
    let [from, to] = [0, 0];
    for (const bound of integerBounds) {
      to += bytes.copy(quotedBytes, to, from, bound);
      quotedBytes[to++] = QUOTE;
      from = bound;
    }
    bytes.copy(quotedBytes, to, from);
    return quotedBytes;
  }

  private recordLongInteger(start: number, end: number): void {
    const [, blanks, digits] = /^(\s*)(-?\d{16,})\s*$/.exec(this.bytes.toString('latin1', start, end)) ?? [];
    if (blanks === undefined || digits === undefined) return;
    this.longIntegerBounds?.push(start + blanks.length, start + blanks.length + digits.length);
  }

  private skipBlanks(): void {
    while ((this.bytes[this.position] ?? 0x21) <= 0x20) this.position += 1;
  }

  /** The position after the closing quote: the first quote after an even number of backslashes. */
  private endOfString(openingQuote: number): number {
    const { bytes } = this;
    for (let quote = bytes.indexOf(QUOTE, openingQuote + 1); quote !== -1; quote = bytes.indexOf(QUOTE, quote + 1)) {
      let backslashCount = 0;
      while (bytes[quote - 1 - backslashCount] === BACKSLASH) backslashCount += 1;
      if (backslashCount % 2 === 0) return quote + 1;
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

/** Finds integers that JavaScript may round. JavaScript's numbers are exact up to 2^53, which has sixteen digits. */
const SIXTEEN_DIGITS = /\d{16}/;

/**
 * Parses values with commas between them by JSON.parse without losing digits: integers of sixteen or more digits become text. The caller
 * tells these from other texts by the column's type.
 * @throws ProtocolBreach if the values are not JSON.
 */
export function parseWithoutRounding(bytes: Buffer): readonly unknown[] {
  const text = bytes.toString();
  try {
    const quotedText = SIXTEEN_DIGITS.test(text) ? new JsonScanner(bytes).quoteLongIntegers().toString() : text;
    return JSON.parse(`[${quotedText}]`) as unknown[];
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
