/**
 * Bytes of framing (lengths, line ends, extensions, trailers) beyond what chunks of a byte need: each chunk may have sixteen and
 * twice its length, as in Go's net/http.
 */
const MAX_FRAMING = 16_384;
const PER_CHUNK = 16;

const MAX_CHUNK = 2 ** 31;
const [TAB, LF, CR, SPACE, COLON, SEMICOLON, DELETE] = [9, 10, 13, 32, 58, 59, 127];
const LAST = Buffer.from('0\r\n\r\n');

/** Longer runs are copied by the runtime. */
const SHORT = 16;

/** Values of hexadecimal digits; 255: none. */
const DIGITS = Uint8Array.from({ length: 256 }, (_, byte) => {
  const value = '0123456789abcdef'.indexOf(String.fromCharCode(byte).toLowerCase());
  return value < 0 ? 255 : value;
});

/** Characters of a field's name (RFC 9110 section 5.6.2). */
const TOKEN = Uint8Array.from({ length: 256 }, (_, byte) =>
  /[!#$%&'*+.^_`|~0-9A-Za-z-]/.test(String.fromCharCode(byte)) ? 1 : 0,
);

type Place =
  | 'size'
  | 'extension'
  | 'size LF'
  | 'data'
  | 'data CR'
  | 'data LF'
  | 'trailer'
  | 'trailer name'
  | 'trailer value'
  | 'trailer LF'
  | 'last LF'
  | 'end';

export type ChunkFault = 'MALFORMED_CHUNKS' | 'TOO_MUCH_FRAMING';

/**
 * A body in chunks (RFC 9112 section 7.1), whose bytes come in any pieces, with its data joined: a chunk of a byte costs Node's
 * parser as much as one of 64 KiB, some microseconds. Extensions and trailers are dropped, as section 7.1.1 and 7.1.2 let a recipient do.
 */
export class ChunkedBody {
  fault: ChunkFault | null = null;
  private place: Place = 'size';
  private digits = 0;
  private size = 0;
  private framing = 0;

  get hasEnded(): boolean {
    return this.place === 'end';
  }

  /**
   * @returns how many of these bytes belong to the body, and the same data as one chunk, with the last one where the body ends;
   *   after a fault nothing is to be parsed.
   */
  take(bytes: Buffer): { used: number; parsed: Buffer } {
    const data = Buffer.allocUnsafe(bytes.length);
    let [at, length] = [0, 0];
    while (at < bytes.length && this.place !== 'end' && this.fault === null) {
      if (this.place !== 'data') {
        this.step(bytes[at++] ?? 0);
        continue;
      }
      const end = Math.min(bytes.length, at + this.size);
      this.size -= end - at;
      if (end - at > SHORT) length += bytes.copy(data, length, at, end);
      else for (let from = at; from < end; from += 1) data[length++] = bytes[from] ?? 0;
      at = end;
      if (this.size === 0) this.place = 'data CR';
    }
    return { used: at, parsed: framed(data.subarray(0, length), this.hasEnded) };
  }

  private step(byte: number): void {
    this.framing += 1;
    if (this.framing > MAX_FRAMING) this.fault = 'TOO_MUCH_FRAMING';
    else this.place = this.after(byte) ?? this.malformed();
  }

  private malformed(): Place {
    this.fault = 'MALFORMED_CHUNKS';
    return this.place;
  }

  /** Null: the byte may not stand here. A line end without CR may not stand anywhere: others could see it as the end of a line. */
  private after(byte: number): Place | null {
    switch (this.place) {
      case 'size':
        return this.afterSize(byte);
      case 'extension':
        return byte === CR ? 'size LF' : isText(byte) ? 'extension' : null;
      case 'size LF':
        return byte === LF ? this.afterLine() : null;
      case 'data CR':
        return byte === CR ? 'data LF' : null;
      case 'data LF':
        return byte === LF ? 'size' : null;
      case 'trailer':
        return byte === CR ? 'last LF' : TOKEN[byte] === 1 ? 'trailer name' : null;
      case 'trailer name':
        return byte === COLON ? 'trailer value' : TOKEN[byte] === 1 ? 'trailer name' : null;
      case 'trailer value':
        return byte === CR ? 'trailer LF' : isText(byte) ? 'trailer value' : null;
      case 'trailer LF':
        return byte === LF ? 'trailer' : null;
      case 'last LF':
        return byte === LF ? 'end' : null;
      case 'data':
      case 'end':
        return null;
    }
  }

  private afterSize(byte: number): Place | null {
    const digit = DIGITS[byte] ?? 255;
    if (digit < 16) {
      this.digits += 1;
      this.size = this.size * 16 + digit;
      return this.size < MAX_CHUNK ? 'size' : null;
    }
    if (this.digits === 0) return null;
    if (byte === CR) return 'size LF';
    return byte === SEMICOLON ? 'extension' : null;
  }

  private afterLine(): Place {
    this.digits = 0;
    if (this.size === 0) return 'trailer';
    this.framing = Math.max(0, this.framing - PER_CHUNK - 2 * this.size);
    return 'data';
  }
}

function isText(byte: number): boolean {
  return byte === TAB || (byte >= SPACE && byte !== DELETE);
}

function framed(data: Buffer, isLast: boolean): Buffer {
  const end = isLast ? [LAST] : [];
  if (data.length === 0) return Buffer.concat(end);
  return Buffer.concat([Buffer.from(`${data.length.toString(16)}\r\n`), data, Buffer.from('\r\n'), ...end]);
}
