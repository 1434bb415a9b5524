// `read-grantline.js HOST:PORT`: our own client, by its DB-API.
import { connect } from '../../../src/query-engine/client/index.js';
import { serveStatements } from './commands.js';

const connection = connect({ url: `http://${process.argv[2] ?? ''}`, user: 'ana' });

await serveStatements(async (sql, onFirst) => {
  const cursor = connection.cursor();
  await cursor.execute(sql);
  let rows = 0;
  for await (const row of cursor) {
    rows += row.length > 0 ? 1 : 0;
    if (rows === 1) onFirst();
  }
  await cursor.close();
  return rows;
});
