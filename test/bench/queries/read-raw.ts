// `read-raw.js HOST:PORT parsed|bytes`: the least that a client can do. Pages are parsed by JSON.parse, or looked through for
// the next address alone, their rows counted by their number a page.
import { Agent, request } from 'node:http';
import { serveStatements } from './commands.js';

interface Page {
  data?: unknown[][];
  nextUri?: string;
}

const [address = '', mode] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true });
const HEADERS = { 'X-Trino-User': 'ana' };

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

const count = (rows: unknown[][]): number => rows.reduce((sum, row) => sum + (row.length > 0 ? 1 : 0), 0);

await serveStatements(async (sql, onFirst) => {
  let rows = 0;
  let body = await ask('POST', `http://${address}/v1/statement`, sql);
  for (;;) {
    let next: string | undefined;
    if (mode === 'bytes') {
      next = /"nextUri":"([^"]+)"/.exec(body.toString('latin1', 0, 400))?.[1];
      rows += body.length > 2_000 ? 1 : 0;
    } else {
      const page = JSON.parse(body.toString()) as Page;
      rows += count(page.data ?? []);
      next = page.nextUri;
    }
    if (rows > 0) onFirst();
    if (next === undefined) return rows;
    body = await ask('GET', next);
  }
});
