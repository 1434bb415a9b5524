import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/** Of a segment's bytes before they are packed, as the engine has it by default. */
const SEGMENT = 8 * 1_048_576;
/** Up to so many rows, and bytes, come within the answer. */
const INLINE = { rows: 1_000, bytes: 131_072 };
/** A smaller one is not packed. */
const LEAST_PACKED = 8_192;
/** Of one answer. */
const SEGMENTS = 4;
export const FIRST_ROW = 1_000_000;
const ROOT = '/v1/spooled/';

interface Packed {
  body: Buffer;
  uncompressedSize?: number;
}

/** Rows that a result repeats page by page, and all of them as the bytes of `data`. Segments have others: repeated ones would pack too well. */
export interface Data {
  name: string;
  row: (row: number) => string;
  rows: string[];
  bytes: Buffer;
}

/** The engine's store of rows, with the engine itself as its server. Each kind of segment is packed once. */
export class SegmentStore {
  private readonly packed = new Map<string, Packed>();
  private readonly stored = new Map<string, Buffer>();
  private last = 0;

  /** @param python with lz4 and zstandard: Node 20 packs neither */
  constructor(private readonly python: string) {}

  /** The next rows of a result, as the `data` of an answer. @returns with their number */
  spool(
    data: Data,
    { encoding, from, left, origin }: { encoding: string; from: number; left: number; origin: string },
  ): { json: string; count: number } {
    const segments: unknown[] = [];
    let count = 0;
    while (count < left && segments.length < SEGMENTS) {
      const taken = Math.min(left - count, Math.ceil(SEGMENT / (data.bytes.length / data.rows.length)));
      const { body, ...sizes } = this.segment(data, encoding, taken);
      const metadata = { rowOffset: from + count, rowsCount: taken, segmentSize: body.length, ...sizes };
      segments.push({ ...this.place(body, taken, origin), metadata });
      count += taken;
    }
    return { json: JSON.stringify({ encoding, metadata: {}, segments }), count };
  }

  /** @returns null: there is none, or it has been acknowledged. */
  answer(path: string): Buffer | null {
    const [action, id = ''] = path.slice(ROOT.length).split('/');
    const body = this.stored.get(id) ?? null;
    if (action !== 'ack' || body === null) return body;
    this.stored.delete(id);
    return Buffer.alloc(0);
  }

  /** Whether it is for the store. */
  has(path: string): boolean {
    return path.startsWith(ROOT);
  }

  private place(body: Buffer, rows: number, origin: string): object {
    if (rows <= INLINE.rows && body.length <= INLINE.bytes) return { type: 'inline', data: body.toString('base64') };
    this.last += 1;
    const id = `segment-${this.last}`;
    this.stored.set(id, body);
    return {
      type: 'spooled',
      uri: `${origin}${ROOT}download/${id}`,
      ackUri: `${origin}${ROOT}ack/${id}`,
      headers: {},
    };
  }

  private segment(data: Data, encoding: string, count: number): Packed {
    const key = `${data.name} ${encoding} ${count}`;
    const known = this.packed.get(key);
    if (known !== undefined) return known;
    const rows = Array.from({ length: count }, (_, row) => data.row(FIRST_ROW + row));
    const packed = this.pack(Buffer.from(`[${rows.join(',')}]`), encoding);
    this.packed.set(key, packed);
    return packed;
  }

  private pack(input: Buffer, encoding: string): Packed {
    if (encoding === 'json' || input.length < LEAST_PACKED) return { body: input };
    const args = [join(import.meta.dirname, 'pack-rows.py'), encoding];
    return { body: execFileSync(this.python, args, { input, maxBuffer: 2 * SEGMENT }), uncompressedSize: input.length };
  }
}
