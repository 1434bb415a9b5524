import { ProtocolBreach } from './reading.js';

const SHORTEST_MATCH = 4;

/**
 * Unpacks one block of LZ4 (its block format, without a frame).
 * @param size of what is unpacked, which the block must give exactly.
 * @throws ProtocolBreach
 */
export function unpackLz4(block: Buffer, size: number): Buffer {
  const unpacked = Buffer.allocUnsafe(size);
  let [at, to] = [0, 0];
  /** A length goes on in further bytes while they are full. */
  const lengthFrom = (nibble: number): number => {
    let length = nibble;
    if (nibble < 15) return length;
    for (let more = 255; more === 255; at += 1) {
      more = block[at] ?? 0;
      length += more;
    }
    return length;
  };
  while (at < block.length) {
    const token = block[at] ?? 0;
    at += 1;
    const literals = lengthFrom(token >> 4);
    if (at + literals > block.length || to + literals > size) throw broken();
    block.copy(unpacked, to, at, at + literals);
    at += literals;
    to += literals;
    if (at === block.length) break; // the last sequence has no match
    const distance = (block[at] ?? 0) | ((block[at + 1] ?? 0) << 8);
    at += 2;
    const length = lengthFrom(token & 15) + SHORTEST_MATCH;
    if (at > block.length || distance === 0 || distance > to || to + length > size) throw broken();
    // A match may reach into what it writes, and then repeats it.
    const start = to - distance;
    for (const end = to + length; to < end;) {
      const part = Math.min(end - to, to - start);
      unpacked.copyWithin(to, start, start + part);
      to += part;
    }
  }
  if (to !== size) throw broken();
  return unpacked;
}

function broken(): ProtocolBreach {
  return new ProtocolBreach('a segment that is no LZ4 of its size');
}
