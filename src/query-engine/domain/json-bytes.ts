const [QUOTE, BACKSLASH, BLANK] = [0x22, 0x5c, 0x20];

/** So many bytes are looked at one by one: the platform's own search takes as long to begin. */
const NEAR = 16;

/** Where the next quote is; -1: there is none. */
export function indexOfQuote(bytes: Buffer, from: number): number {
  const near = Math.min(from + NEAR, bytes.length);
  for (let at = from; at < near; at += 1) if (bytes[at] === QUOTE) return at;
  return near < bytes.length ? bytes.indexOf(QUOTE, near) : -1;
}

/** Whether no byte is a backslash or below a blank: then each string of a JSON text ends with the next quote. */
export function isPlain(bytes: Buffer): boolean {
  const { buffer, byteOffset, length } = bytes;
  const head = Math.min(-byteOffset & 3, length);
  const count = (length - head) >> 2;
  const words = count === 0 ? new Int32Array() : new Int32Array(buffer, byteOffset + head, count);
  // Four bytes at a time: the highest bit of one stays where it is such a byte.
  let found = 0;
  for (const word of words) {
    const other = word ^ 0x5c5c5c5c;
    found |= ((word - 0x20202020) & ~word) | ((other - 0x01010101) & ~other);
  }
  return (found & 0x80808080) === 0 && areSingly(bytes, 0, head) && areSingly(bytes, head + 4 * count, length);
}

function areSingly(bytes: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) if ((bytes[at] ?? 0) < BLANK || bytes[at] === BACKSLASH) return false;
  return true;
}

/** Whether that text is at that place. */
export function isAt(word: Buffer, source: Buffer, place: number): boolean {
  for (let at = 0; at < word.length; at += 1) if (source[place + at] !== word[at]) return false;
  return true;
}

/** What JSON takes as a blank. */
export function isBlank(byte: number | undefined): boolean {
  return byte === BLANK || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
