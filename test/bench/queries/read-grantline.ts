// `read-grantline.js HOST:PORT`: our own client as it is built, by its DB-API, so many rows at a time.
import { connect } from '../../../dist/query-engine/client/index.js';
import { serveStatements } from './commands.js';

const MANY = 1_000;
const connection = connect({ url: `http://${process.argv[2] ?? ''}`, user: 'ana' });

await serveStatements(async (sql, onFirst) => {
  const cursor = connection.cursor();
  await cursor.execute(sql);
  let rows = 0;
  for (let some = await cursor.fetchMany(MANY); some.length > 0; some = await cursor.fetchMany(MANY)) {
    onFirst();
    for (const row of some) rows += row.length > 0 ? 1 : 0;
  }
  await cursor.close();
  return rows;
});
