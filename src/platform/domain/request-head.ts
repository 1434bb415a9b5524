const END = Buffer.from('\r\n\r\n');
const [CR, LF] = [13, 10];

/** Where the heads of requests end, in bytes that come piece by piece, and how many lines each has: found without parsing them. */
export class RequestHead {
  /** Of the latest head, so far: its request line, its headers, and the empty line at its end. */
  lines = 0;
  /** The last bytes of a head that goes on. */
  private tail: Buffer = Buffer.alloc(0);

  /** How many of these bytes belong to this head: all, where it goes on. The next ones begin another. */
  take(bytes: Buffer): number {
    if (this.tail.length === 0) this.lines = 0;
    const before = this.tail.length;
    const joined = before === 0 ? bytes : Buffer.concat([this.tail, bytes]);
    const start = before === 0 ? blanks(bytes) : 0;
    const end = joined.indexOf(END, start);
    const length = end < 0 ? bytes.length : end + END.length - before;
    for (let at = bytes.indexOf(LF, start); at >= 0 && at < length; at = bytes.indexOf(LF, at + 1)) this.lines += 1;
    this.tail = end < 0 ? last(joined, start) : Buffer.alloc(0);
    return length;
  }
}

/** As many bytes as the beginning of an end may have, copied: the others need not be kept. */
function last(bytes: Buffer, start: number): Buffer {
  return Buffer.from(bytes.subarray(Math.max(start, bytes.length - END.length + 1)));
}

/** Empty lines before a request are no part of it (RFC 9112 section 2.2). */
function blanks(bytes: Buffer): number {
  let at = 0;
  while (bytes[at] === CR || bytes[at] === LF) at += 1;
  return at;
}
