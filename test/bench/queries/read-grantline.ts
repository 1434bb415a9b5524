// `read-grantline.js HOST:PORT`: our own client, by its DB-API, as it was built.
import { SystemClock } from '../../../dist/kernel/clock.js';
import { NodeTimers } from '../../../dist/platform/infrastructure/node-timers.js';
import { sessionFor } from '../../../dist/query-engine/domain/engine-session.js';
import { NO_SERVICE_TOKENS } from '../../../dist/query-engine/domain/service-token-source.js';
import { Connection } from '../../../dist/query-engine/engine-connections.service.js';
import {
  type TrinoAddress,
  TrinoStatementClient,
} from '../../../dist/query-engine/infrastructure/trino-statement-client.js';
import { serveStatements } from './commands.js';

const timers = new NodeTimers();
const engine: TrinoAddress = {
  origin: `http://${process.argv[2] ?? ''}`,
  caFile: null,
  user: 'grantline',
  headerPrefix: 'X-Trino',
  forwardedProto: null,
  compression: 'none',
  largestPage: 2 ** 25,
};
const ignore = (): void => undefined;
const log = { debug: ignore, info: ignore, warn: ignore, error: ignore, droppedLines: () => 0 };
const client = new TrinoStatementClient(
  engine,
  NO_SERVICE_TOKENS,
  timers,
  { fraction: () => 0 },
  new SystemClock(),
  log,
);
const connection = new Connection(client, timers, sessionFor('ana'));

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
