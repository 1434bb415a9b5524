const END = Buffer.from('\r\n\r\n');
const [CR, LF] = [13, 10];

/** Where the heads of requests end, in bytes that come piece by piece, and how many lines each has: found without parsing them. */
export class RequestHead {
  /** Of the latest head, so far: its request line, its headers, and the empty line at its end. */
  lines = 0;
  /** The last bytes of a head that goes on. */
  private tail = Buffer.alloc(0);

  /** How many of these bytes belong to this head: all, where it goes on. The next ones begin another. */
  take(bytes: Buffer): number {
    if (this.tail.length === 0) this.lines = 0;
    const before = this.tail.length;
    const joined = before === 0 ? bytes : Buffer.concat([this.tail, bytes]);
    const start = before === 0 ? blanks(bytes) : 0;
    const end = joined.indexOf(END, start);
    const length = end < 0 ? bytes.length : end + END.length - before;
    for (let at = bytes.indexOf(LF, start); at >= 0 && at < length; at = bytes.indexOf(LF, at + 1)) this.lines += 1;
    this.tail =
      end < 0 ? Buffer.from(joined.subarray(Math.max(start, joined.length - END.length + 1))) : Buffer.alloc(0);
    return length;
  }
}

/** Empty lines before a request are no part of it (RFC 9112 section 2.2). */
function blanks(bytes: Buffer): number {
  let at = 0;
  while (bytes[at] === CR || bytes[at] === LF) at += 1;
  return at;
}
