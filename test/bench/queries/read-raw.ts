// `read-raw.js HOST:PORT parsed|bytes`: the least that a client can do. Pages are parsed by JSON.parse, or looked through for
// the next address alone, their rows counted by their number a page. The same with spooled rows, one segment after the other.
import { Agent, request } from 'node:http';
import * as zlib from 'node:zlib';
import { unpackLz4 } from '../../../dist/query-engine/domain/lz4-block.js';
import { serveStatements } from './commands.js';

interface Segment {
  data?: string;
  uri: string;
  ackUri: string;
  metadata: { uncompressedSize?: number };
}
interface Page {
  data?: unknown[][] | { encoding: string; segments: Segment[] };
  nextUri?: string;
}

const [address = '', mode] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true });
const HEADERS = { 'X-Trino-User': 'ana', 'X-Trino-Query-Data-Encoding': 'json+zstd,json+lz4,json' };
/** Node has it from version 22.15 on. */
const { zstdDecompressSync: unpackZstd } = zlib as { zstdDecompressSync?: (bytes: Buffer) => Buffer };

function ask(method: string, url: string, body?: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { method, agent, headers: HEADERS }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => resolve(Buffer.concat(chunks)));
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

function unpacked(bytes: Buffer, size: number, encoding: string): Buffer {
  if (encoding === 'json+lz4') return unpackLz4(bytes, size);
  if (unpackZstd === undefined) throw new Error('this Node unpacks no zstd');
  return unpackZstd(bytes);
}

const count = (rows: unknown[][]): number => rows.reduce((sum, row) => sum + (row.length > 0 ? 1 : 0), 0);

async function rowsOf(data: Page['data'], onFirst: () => void): Promise<number> {
  if (data === undefined || Array.isArray(data)) return count(data ?? []);
  let rows = 0;
  for (const { data: inline, uri, ackUri, metadata } of data.segments) {
    const bytes = inline === undefined ? await ask('GET', uri) : Buffer.from(inline, 'base64');
    if (inline === undefined) void ask('GET', ackUri);
    if (mode === 'bytes') continue;
    const { uncompressedSize: size } = metadata;
    const text = size === undefined ? bytes : unpacked(bytes, size, data.encoding);
    rows += count(JSON.parse(text.toString()) as unknown[][]);
    onFirst();
  }
  return rows;
}

await serveStatements(async (sql, onFirst) => {
  let rows = 0;
  let body = await ask('POST', `http://${address}/v1/statement`, sql);
  for (;;) {
    let next: string | undefined;
    if (mode === 'bytes' && !sql.includes('json')) {
      next = /"nextUri":"([^"]+)"/.exec(body.toString('latin1', 0, 400))?.[1];
      rows += body.length > 2_000 ? 1 : 0;
    } else {
      const page = JSON.parse(body.toString()) as Page;
      rows += await rowsOf(page.data, onFirst);
      next = page.nextUri;
    }
    if (rows > 0) onFirst();
    if (next === undefined) return rows;
    body = await ask('GET', next);
  }
});
