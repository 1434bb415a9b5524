import { ProtocolBreach } from './reading.js';

const SHORTEST_MATCH = 4;
/** Fewer bytes than this are copied faster one by one than by a call. */
const FEW = 32;

/**
 * Unpacks one block of LZ4 (its block format, without a frame).
 * @param size of what is unpacked, which the block must give exactly.
 * @throws ProtocolBreach
 */
export function unpackLz4(block: Buffer, size: number): Buffer {
  const unpacked = Buffer.allocUnsafe(size);
  const end = block.length;
  let [at, to] = [0, 0];
  while (at < end) {
    const token = block[at++] ?? 0;
    let literals = token >> 4;
    // A length goes on in further bytes while they are full.
    for (let more = literals === 15 ? 255 : 0; more === 255; literals += more) more = block[at++] ?? 0;
    if (at + literals > end || to + literals > size) throw broken();
    if (literals > FEW) to += block.copy(unpacked, to, at, at + literals);
    else for (let from = at; from < at + literals; from += 1) unpacked[to++] = block[from] ?? 0;
    at += literals;
    if (at === end) break; // the last sequence has no match
    const distance = (block[at] ?? 0) | ((block[at + 1] ?? 0) << 8);
    at += 2;
    let length = token & 15;
    for (let more = length === 15 ? 255 : 0; more === 255; length += more) more = block[at++] ?? 0;
    length += SHORTEST_MATCH;
    if (at > end || distance === 0 || distance > to || to + length > size) throw broken();
    // A match may reach into what it writes, and then repeats it.
    if (length > FEW && distance >= length) unpacked.copyWithin(to, to - distance, to - distance + length);
    else
      for (let from = to - distance; from < to - distance + length; from += 1)
        unpacked[from + distance] = unpacked[from] ?? 0;
    to += length;
  }
  if (to !== size) throw broken();
  return unpacked;
}

function broken(): ProtocolBreach {
  return new ProtocolBreach('a segment that is no LZ4 of its size');
}
