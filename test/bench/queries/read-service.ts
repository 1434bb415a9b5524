// `read-service.js HOST:PORT TOKEN ndjson|csv|parsed`: a client of the service's stream, which counts its lines, or parses each.
import { Agent, type IncomingMessage, request } from 'node:http';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { serveStatements } from './commands.js';

const [address = '', token = '', mode = ''] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true });
const LINE_FEED = 0x0a;

function ask(method: string, path: string, headers: Record<string, string>, body?: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const asked = request(`http://${address}${path}`, {
      ...{ method, agent },
      headers: { ...headers, Authorization: `Bearer ${token}` },
    });
    asked.on('response', resolve).on('error', reject);
    asked.end(body);
  });
}

/** @returns how many lines there are behind the first one. */
async function count(response: IncomingMessage, onFirst: () => void): Promise<number> {
  let lines = -1;
  if (mode === 'parsed') {
    for await (const line of createInterface({ input: response, crlfDelay: Infinity })) {
      JSON.parse(line);
      lines += 1;
      if (lines > 0) onFirst();
    }
    return lines;
  }
  for await (const chunk of response as AsyncIterable<Buffer>) {
    for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, at + 1)) lines += 1;
    if (lines > 0) onFirst();
  }
  return lines;
}

await serveStatements(async (sql, onFirst) => {
  const body = JSON.stringify({ sql });
  const submitted = await ask('POST', '/api/queries', { 'Content-Type': 'application/json' }, body);
  submitted.resume();
  if (submitted.statusCode !== 201) throw new Error(`the query was answered with ${String(submitted.statusCode)}`);
  const accept = mode === 'csv' ? 'text/csv' : 'application/x-ndjson';
  const rows = await ask('GET', `${submitted.headers.location ?? ''}/rows`, { Accept: accept });
  if (rows.statusCode !== 200) throw new Error(`the rows were answered with ${await text(rows)}`);
  return count(rows, onFirst);
});
