// `read-trino-client.js HOST:PORT FOLDER`: the official client for JavaScript, installed in that folder.
import { createRequire } from 'node:module';
import { serveStatements } from './commands.js';

const [address = '', folder = ''] = process.argv.slice(2);
interface Page {
  data?: unknown[][];
  error?: { message: string };
}
/** As much of it as is used here. */
interface Client {
  BasicAuth: new (user: string) => object;
  Trino: { create(options: object): { query(sql: string): Promise<AsyncIterable<Page>> } };
}
const { BasicAuth, Trino } = createRequire(`${folder}/package.json`)('trino-client') as Client;
const trino = Trino.create({ server: `http://${address}`, auth: new BasicAuth('ana') });

await serveStatements(async (sql, onFirst) => {
  let rows = 0;
  for await (const page of await trino.query(sql)) {
    if (page.error !== undefined) throw new Error(page.error.message);
    for (const row of page.data ?? []) rows += row.length > 0 ? 1 : 0;
    if (rows > 0) onFirst();
  }
  return rows;
});
