import type { SeenRequest } from './fake-trino.js';
import { noteSecret } from '../service/secrets.js';

/** Rows of a result as the engine spools them. `type` spooled: `data` is in the store. */
export interface SpooledPage {
  encoding: string;
  segments: unknown[];
}

interface StoredAnswer {
  status: number;
  headers?: Record<string, string>;
  body?: Buffer;
}

interface Stored {
  body: Buffer;
  /** Its `uri` answers with a redirect to there. */
  location?: string;
}

/** Where an engine puts the rows of large results: within itself, or at another origin. */
export class FakeSegmentStore {
  readonly requests: SeenRequest[] = [];
  readonly acknowledged: string[] = [];
  /** Statuses of the next answers, before the real ones. */
  failing: number[] = [];
  private made = 0;
  private readonly stored = new Map<string, Stored>();

  /** One segment more. @param given what is said of it otherwise than it is */
  segment(origin: string, rowOffset: number, rowsCount: number, body: Buffer, given: Record<string, unknown> = {}) {
    this.made += 1;
    const name = `segment-${this.made}-${'s'.repeat(24)}`;
    noteSecret(name);
    const { location, ...metadata } = given;
    this.stored.set(name, { body, ...(typeof location === 'string' ? { location } : {}) });
    return {
      type: 'spooled',
      uri: `${origin}/v1/spooled/download/${name}`,
      ackUri: `${origin}/v1/spooled/ack/${name}`,
      headers: { 'x-store-key': ['a key of the store'] },
      metadata: { rowOffset, rowsCount, segmentSize: body.length, ...metadata },
    };
  }

  answer(seen: SeenRequest): StoredAnswer {
    this.requests.push(seen);
    const [, , , action, name = ''] = seen.path.split('/');
    const failing = this.failing.shift();
    if (failing !== undefined) return { status: failing };
    const stored = this.stored.get(name);
    if (stored === undefined) return { status: 404 };
    if (action === 'ack') {
      this.acknowledged.push(name);
      this.stored.delete(name);
      return { status: 200 };
    }
    if (stored.location === undefined) return { status: 200, body: stored.body };
    return { status: 303, headers: { Location: stored.location } };
  }
}

/** The rows that a client reads, by the encoding: written by the packers that the engine's own libraries are compatible with. */
export const PACKED: Readonly<Record<string, { body: Buffer; uncompressedSize?: number }>> = {
  json: { body: Buffer.from(rowsText()) },
  'json+lz4': { body: Buffer.from(lz4(), 'base64'), uncompressedSize: Buffer.byteLength(rowsText()) },
  'json+zstd': { body: Buffer.from(zstd(), 'base64'), uncompressedSize: Buffer.byteLength(rowsText()) },
};

export const spooled = (encoding: string, ...segments: unknown[]): SpooledPage => ({ encoding, segments });

/** Forty rows. */
export function rowsText(): string {
  const rows = Array.from({ length: 40 }, (_, n) => [
    n,
    'a name that comes again and again',
    n % 3 === 0 ? 'ünï' : null,
  ]);
  return JSON.stringify(rows);
}

/** lz4 4.4, one block with high compression. */
function lz4(): string {
  return (
    '8hFbWzAsImEgbmFtZSB0aGF0IGNvbWVzIGFnYWluIGFuZAoA3yIsIsO8bsOvIl0sWzEwABKPbnVsbF0sWzItABkfM4oAHB80XQAZHzUtABkfNo' +
    'oAHB83XQAZHzgtABkfOZ4BHR8wXgAZHzHNARovMTKNAB0fM18AGg/QARovMTWNAB0fNl8AGg/TARovMTiNAB0fOUYDGg/VARovMjGNABwfMqYD' +
    'Gh8y1QEaLzI0jQAdD6kDGh8y1QEaLzI3jQAdD6wDGh8y1QEaHzN5BR0fM60DGh8zewUbD3wFHR8zrQMaHzPVARofM38FHR8zrQMaHzPVARofM4' +
    'IFF1DDryJdXQ=='
  );
}

/** zstandard 0.25. */
function zstd(): string {
  return (
    'KLUv/WBRBrUFABIGFhywJwfAGgyDi4lrkrkbkp77MRDsvSsisvFnxiwCK6Fjmlc3t2xCxzSvamrRhI5pzsxM6JjmVYXLMA6fCtchkk8khxd4ty' +
    'e4wM1QHAWAIT5ArDj8zQ+LUgEsIICTwsIOmqJ5NlmRyDxN1kho4piYCGMyTUl0mkxTGp0mk9mIWs2WKYlOk8mUotMNQ/ra6jwmzWaj8zChY0Q0' +
    'LpR+jhHLlJpHxGJKYa4BB39u8E3O/O+jQ3wC'
  );
}
